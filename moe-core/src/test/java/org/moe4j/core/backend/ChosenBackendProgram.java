package org.moe4j.core.backend;

/** Asks for the best backend, more than once. */
final class ChosenBackendProgram {
    private ChosenBackendProgram() {}

    public static void main(String[] none) {
        for (Backends.Precision precision : Backends.Precision.values()) {
            Backend backend = Backends.best(precision);
            backend.matrix(1, 1, new double[1]).close();
            Backends.best(precision);
        }
        Backends.named("reference", Backends.Precision.FLOAT64);
    }
}
