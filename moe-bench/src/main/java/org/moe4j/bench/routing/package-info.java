/**
 * The report of {@code moe routing}: what the analyses of {@code org.moe4j.router.analysis} say of traces in files, as tables of typed
 * cells and pictures, and these as text, JSON, CSV and one HTML page.
 */
@NullMarked
package org.moe4j.bench.routing;

import org.jspecify.annotations.NullMarked;
