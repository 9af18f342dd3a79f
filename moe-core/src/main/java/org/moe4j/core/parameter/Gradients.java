package org.moe4j.core.parameter;

import org.moe4j.core.backend.Matrix;

/**
 * Gradients of one stage; they belong to whoever asked for them.
 *
 * @param input gradient of the stage's input, of its shape
 * @param parameters gradients of the stage's parameters, under the same names and of the same shapes
 */
public record Gradients(Matrix input, Parameters parameters) implements AutoCloseable {
    /** Closes all matrices. */
    @Override
    public void close() {
        input.close();
        parameters.close();
    }
}
