package org.moe4j.core.nd4j;

/** What multiplies in one precision: OpenBLAS, or Java where OpenBLAS is wrong. */
interface Blas {
    /** {@code c = a · b (+ c)} with (m×k)·(k×n), none of them 0; c is row-major and is not read unless it is added to. */
    void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c);

    /** Whether it has kernels for small products on this machine; see {@link HostGemm}. */
    boolean hasSmallKernels();
}
