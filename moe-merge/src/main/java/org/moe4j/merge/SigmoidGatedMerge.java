package org.moe4j.merge;

import java.util.List;
import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * A learned gate on the shared expert: {@code z = X·gᵀ}, {@code Y = R + σ(z)⊙S}, with {@code σ(z) = 1/(1 + e^−z)}.
 *
 * <p>z carries the backend's rounding, σ is {@code double} on the host. Sources: Qwen1.5-MoE and its successors
 * ({@code shared_expert_gate}), and Megatron-Core's option; Equation 77 of the report on Olmo's MoE recipe. It takes any
 * router and exactly one shared expert.
 *
 * @param gate g (1×D), as in checkpoints; the merge has a handle of its own
 */
public record SigmoidGatedMerge(Matrix gate) implements MergeConvention {
    private static final String NAME = "sigmoid-gated";
    private static final String GATE = "gate";

    /**
     * Checks the gate and takes another handle on it.
     *
     * @param gate g (1×D); the given handle stays the caller's and may be closed
     */
    public SigmoidGatedMerge {
        Require.count(GATE, gate.rows(), 1, "row");
        if (gate.columns() < 1) {
            throw Require.expected(GATE, "at least 1 column (hidden size)", gate.columns());
        }
        gate = gate.share();
    }

    /**
     * A random gate: normal with standard deviation {@code 1/√D}.
     *
     * @param hiddenSize D, at least 1
     * @param backend makes the gate
     * @param seed the same seed gives the same gate on every backend
     * @return the convention
     */
    public static SigmoidGatedMerge random(int hiddenSize, Backend backend, long seed) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        return random(hiddenSize, backend, seed, Initializer.normal(1 / Math.sqrt(hiddenSize)));
    }

    /**
     * A random gate.
     *
     * @param hiddenSize D, at least 1
     * @param backend makes the gate
     * @param seed the same seed gives the same gate on every backend
     * @param initializer draws the gate
     * @return the convention
     */
    public static SigmoidGatedMerge random(int hiddenSize, Backend backend, long seed, Initializer initializer) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        try (Matrix gate = initializer.draw(backend, 1, hiddenSize, seed)) {
            return new SigmoidGatedMerge(gate);
        }
    }

    @Override
    public String name() {
        return NAME;
    }

    /**
     * {@inheritDoc}
     *
     * <p>The pass reads the tokens, the shared output and the gate again in its backward.
     *
     * @throws ArithmeticException when a gate value z is NaN
     */
    @Override
    public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
        KernelChecks.owner("tokens", tokens, gate.backend());
        Require.count("tokens", tokens.columns(), gate.columns(), "columns (hidden size of the gate)");
        requireOne(shared.size());
        Branches.require(tokens, routed, shared);
        return new SigmoidGatedPass(gate, tokens, routed, shared.get(0));
    }

    private static void requireOne(int shared) {
        Require.count("shared", shared, 1, "shared expert (merge.convention = " + NAME + ")");
    }

    /**
     * {@inheritDoc}
     *
     * <p>Demands one shared expert, and experts of the gate's hidden size and backend.
     */
    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        requireOne(shared.size());
        Require.count(GATE, gate.columns(), routed.shape().hiddenSize(), "columns (hidden size of the experts)");
        KernelChecks.owner(GATE, gate, routed.backend());
    }

    /**
     * The gate; the handle belongs to the caller.
     *
     * @return {@code gate} (1×D)
     */
    @Override
    public Parameters parameters() {
        return Parameters.of(GATE, gate.share());
    }

    /**
     * A merge with another gate.
     *
     * @param parameters {@code gate} (1×D)
     * @return a new merge
     */
    @Override
    public SigmoidGatedMerge withParameters(Parameters parameters) {
        Matrix other = parameters.requireNames(Set.of(GATE)).get(GATE);
        KernelChecks.owner(GATE, other, gate.backend());
        KernelChecks.shape(GATE, other, 1, gate.columns(), "shape of the gate it replaces");
        return new SigmoidGatedMerge(other);
    }

    /** Gives up the merge's handle on its gate; doing so again changes nothing. No pass can go backward then. */
    @Override
    public void close() {
        gate.close();
    }
}
