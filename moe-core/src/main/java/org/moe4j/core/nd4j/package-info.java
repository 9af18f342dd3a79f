/**
 * The fast backend on the CPU and the one for GPUs, and the only package that knows ND4J and OpenBLAS.
 *
 * <p>{@link org.moe4j.core.nd4j.Nd4jBackend} has two strategies. The host strategy owns plain native memory, gives its
 * products to OpenBLAS and does everything else in Java loops; it touches ND4J only in {@code wrap} and {@code unwrap}.
 * The device strategy uses ND4J operations only and assumes nothing about where the numbers are.
 */
@NullMarked
package org.moe4j.core.nd4j;

import org.jspecify.annotations.NullMarked;
