/** JMH benchmarks of files that become layers. */
@NullMarked
package org.moe4j.bench.jmh.loading;

import org.jspecify.annotations.NullMarked;
