package org.moe4j.bench.cli;

import org.moe4j.core.vector.VectorBackend;

/** Asks for the vector backend by its class and by the command line, and prints what either says. */
final class WithoutVectorModule {
    private WithoutVectorModule() {}

    public static void main(String[] arguments) {
        System.out.println("available " + VectorBackend.isAvailable());
        try {
            System.out.println("class " + VectorBackend.float32());
        } catch (IllegalStateException without) {
            System.out.println("class " + without.getMessage());
        }
        System.out.println("status " + Moe.execute(Moe.commandLine(), arguments));
    }
}
