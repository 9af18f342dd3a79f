/**
 * JMH benchmarks. Each states its question, its baseline and its trap, and compares its result once before it measures, so
 * that a fast wrong answer cannot win.
 */
@NullMarked
package org.moe4j.bench.jmh;

import org.jspecify.annotations.NullMarked;
