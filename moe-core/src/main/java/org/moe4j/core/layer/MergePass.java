package org.moe4j.core.layer;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Closing;
import org.moe4j.core.parameter.Parameters;

/** Port: what one merge computed, and its backward. A pass may read the merge's arguments until backward is done. */
public interface MergePass {
    /**
     * The joined output; it belongs to the caller.
     *
     * @return (T×D)
     */
    Matrix output();

    /**
     * Gradients of {@code Σ output ⊙ dOutput}; they belong to the caller.
     *
     * @param dOutput (T×D)
     * @return gradients of both branches, and of tokens and parameters where the merge has such
     */
    BranchGradients backward(Matrix dOutput);

    /**
     * The same, adding the gradients of some parameters into buffers; all other parameters are frozen. The default makes
     * all gradients and adds the wanted ones. Names and buffers are the caller's to check before.
     *
     * @param dOutput (T×D)
     * @param wanted names of parameters, as in {@link OutputMerge#parameters}
     * @param into a {@link org.moe4j.core.backend.Backend#buffer} of the parameter's shape under each wanted name
     * @return gradients of both branches, and of tokens where the merge reads them; no parameters
     */
    default BranchGradients backward(Matrix dOutput, Set<String> wanted, Parameters into) {
        BranchGradients all = backward(dOutput);
        try (Parameters fresh = all.parameters()) {
            fresh.addInto(wanted, into);
            return new BranchGradients(all.routed(), all.shared(), all.tokens(), Parameters.none());
        } catch (RuntimeException | Error failure) {
            all.close();
            throw failure;
        }
    }

    /**
     * What multiplied the routed output.
     *
     * @param token 0 ≤ token &lt; T
     * @return the factor α_t; routed coefficients are {@code α_t} times the routing weights
     */
    double routedFactor(int token);

    /**
     * What multiplied a shared output.
     *
     * @param token 0 ≤ token &lt; T
     * @param branch index of the shared expert
     * @return the coefficient s_t
     */
    double sharedFactor(int token, int branch);

    /**
     * Gradients of a merge.
     *
     * @param routed (T×D)
     * @param shared (T×D) each
     * @param tokens (T×D) when the merge reads the tokens
     * @param parameters under the merge's names
     */
    record BranchGradients(Matrix routed, List<Matrix> shared, Optional<Matrix> tokens, Parameters parameters)
            implements AutoCloseable {
        /**
         * Copies the list.
         *
         * @param routed (T×D)
         * @param shared (T×D) each
         * @param tokens (T×D) when the merge reads the tokens
         * @param parameters under the merge's names
         */
        public BranchGradients {
            shared = List.copyOf(shared);
        }

        /** Closes all matrices. */
        @Override
        public void close() {
            routed.close();
            Closing.each(shared, Matrix::close);
            tokens.ifPresent(Matrix::close);
            parameters.close();
        }
    }
}
