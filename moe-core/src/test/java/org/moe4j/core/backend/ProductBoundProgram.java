package org.moe4j.core.backend;

import java.util.List;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.definition.ProductCases;

/** Products on OpenBLAS alone; prints the figure and which kernels it is of. */
final class ProductBoundProgram {
    private ProductBoundProgram() {}

    public static void main(String[] arguments) {
        int cases = Integer.parseInt(arguments[0]);
        double worst = ProductCases.worst(List.of(Nd4jBackend.float32(), Nd4jBackend.float64()), 1, cases);
        System.out.println(ProductBoundTest.figure(cases, worst) + "; " + Nd4jBackend.blasReport());
    }
}
