package org.moe4j.core.nd4j;

import java.util.List;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.testing.definition.ProductCases;

/** Asks for backends and multiplies, in both precisions, and prints whether products are right and what the backend says of itself. */
final class WrongBlasProgram {
    private static final int CASES = 300;

    private WrongBlasProgram() {}

    public static void main(String[] none) {
        Backends.best(Backends.Precision.FLOAT32);
        Backends.best(Backends.Precision.FLOAT64);
        ProductCases.worst(List.of(Nd4jBackend.float32(), Nd4jBackend.float64()), 1, CASES); // throws for a wrong one
        System.out.println("products right");
        System.out.println("details " + Nd4jBackend.details());
        System.out.println("report " + Nd4jBackend.blasReport());
    }
}
