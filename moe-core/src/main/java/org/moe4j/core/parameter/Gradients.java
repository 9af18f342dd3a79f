package org.moe4j.core.parameter;

import java.util.Set;
import org.moe4j.core.backend.Matrix;

/**
 * Gradients of one stage; they belong to whoever asked for them.
 *
 * @param input gradient of the stage's input, of its shape
 * @param parameters gradients of the stage's parameters, under the same names and of the same shapes
 */
public record Gradients(Matrix input, Parameters parameters) implements AutoCloseable {
    /**
     * Adds the gradients of some parameters into buffers and gives up all gradients of parameters.
     *
     * @param wanted names of these parameters
     * @param into a {@link org.moe4j.core.backend.Backend#buffer} of the parameter's shape under each wanted name
     * @return the gradient of the input, which stays the caller's; closed too when adding fails
     */
    public Matrix addInto(Set<String> wanted, Parameters into) {
        try (parameters) {
            parameters.addInto(wanted, into);
            return input;
        } catch (RuntimeException | Error failure) {
            input.close();
            throw failure;
        }
    }

    /** Closes all matrices. */
    @Override
    public void close() {
        input.close();
        parameters.close();
    }
}
