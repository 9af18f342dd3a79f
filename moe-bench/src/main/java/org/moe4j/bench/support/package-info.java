/** What programs share: tables, files, progress and pictures. Knows nothing of layers. */
@NullMarked
package org.moe4j.bench.support;

import org.jspecify.annotations.NullMarked;
