/** The {@code moe} command line: one class per command. */
@NullMarked
package org.moe4j.bench.cli;

import org.jspecify.annotations.NullMarked;
