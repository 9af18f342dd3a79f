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
 * A learned coefficient for each shared expert: {@code z = X·Gᵀ (T×n)}, {@code c = score(z)},
 * {@code Y = R + Σ_j c_j⊙S_j} (Equation 78 of the report on Olmo's MoE recipe).
 *
 * <p>z carries the backend's rounding, c is {@code double} on the host. It takes any router, and as many shared experts as
 * the gate has rows. Sources:
 *
 * <ul>
 *   <li>{@link SharedScore#SIGMOID} is {@code sigmoid-gated}: with one row {@code shared_expert_gate} of Qwen1.5-MoE and
 *       its successors, and Megatron-Core's option. One gate on the sum of several experts is one gate on the wide expert
 *       ({@link org.moe4j.merge.rewrite.SharedBranchCollapse}, Equation 77).
 *   <li>{@link SharedScore#SOFTMAX} and {@link SharedScore#NORMALIZED_SIGMOID} are {@code shared-router}: what the branch
 *       {@code tianhua/olmo-ddp} of OLMo-core does with more than one shared expert ({@code shared_experts_router}, asked
 *       for scores only in {@code nn/moe/v2/router.py}, no factor K). That branch is not merged and may still change.
 * </ul>
 *
 * @param gate G (n×D), one row per shared expert as in checkpoints; the merge has a handle of its own
 * @param score how the n numbers of a token become coefficients
 */
public record GatedMerge(Matrix gate, SharedScore score) implements MergeConvention {
    static final String GATE = "gate";

    /**
     * Checks the gate and takes another handle on it.
     *
     * @param gate G (n×D); the given handle stays the caller's and may be closed
     * @param score how the n numbers of a token become coefficients
     * @throws IllegalArgumentException for a gate without rows or columns
     */
    public GatedMerge {
        if (gate.rows() < 1) {
            throw Require.expected(GATE, "at least 1 row (shared experts)", gate.rows());
        }
        if (gate.columns() < 1) {
            throw Require.expected(GATE, "at least 1 column (hidden size)", gate.columns());
        }
        gate = gate.share();
    }

    /**
     * A random gate: normal with standard deviation {@code 1/√D}.
     *
     * @param experts n, at least 1
     * @param hiddenSize D, at least 1
     * @param score how the n numbers of a token become coefficients
     * @param backend makes the gate
     * @param seed the same seed gives the same gate on every backend
     * @return the convention
     * @throws IllegalArgumentException for {@code hiddenSize} below 1
     */
    public static GatedMerge random(int experts, int hiddenSize, SharedScore score, Backend backend, long seed) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        return random(experts, hiddenSize, score, backend, seed, Initializer.normal(1 / Math.sqrt(hiddenSize)));
    }

    /**
     * A random gate.
     *
     * @param experts n, at least 1
     * @param hiddenSize D, at least 1
     * @param score how the n numbers of a token become coefficients
     * @param backend makes the gate
     * @param seed the same seed gives the same gate on every backend
     * @param initializer draws the gate
     * @return the convention
     * @throws IllegalArgumentException for {@code experts} below 1 or {@code hiddenSize} below 1
     */
    public static GatedMerge random(
            int experts, int hiddenSize, SharedScore score, Backend backend, long seed, Initializer initializer) {
        Require.atLeast("experts", experts, 1);
        Require.atLeast("hiddenSize", hiddenSize, 1);
        try (Matrix gate = initializer.draw(backend, experts, hiddenSize, seed)) {
            return new GatedMerge(gate, score);
        }
    }

    @Override
    public String name() {
        return score.normalized() ? "shared-router" : "sigmoid-gated";
    }

    /**
     * {@inheritDoc}
     *
     * <p>The pass reads the tokens, the shared outputs and the gate again in its backward.
     *
     * @throws ArithmeticException when a gate value z is NaN, or infinite where the coefficients are normalised
     */
    @Override
    public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
        KernelChecks.owner("tokens", tokens, gate.backend());
        Require.count("tokens", tokens.columns(), gate.columns(), "columns (hidden size of the gate)");
        requireCount(shared.size());
        Branches.require(tokens, routed, shared);
        return new GatedPass(this, tokens, routed, shared);
    }

    private void requireCount(int shared) {
        Require.count(
                "shared",
                shared,
                gate.rows(),
                (gate.rows() == 1 ? "shared expert" : "shared experts") + " (rows of the gate, merge.convention = "
                        + name() + ")");
    }

    /**
     * {@inheritDoc}
     *
     * <p>Demands a shared expert for each row of the gate, and experts of the gate's hidden size and backend. A shared
     * router over one expert is refused: its coefficient is 1 whatever its gate, which has no gradient.
     */
    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        if (score.normalized() && gate.rows() == 1) {
            throw Require.expected(
                    "shared",
                    "at least 2 shared experts (merge.convention = shared-router)",
                    1,
                    "choose merge.convention = sum, or keep several experts apart with shared.apart = true");
        }
        requireCount(shared.size());
        int hiddenSize = shared.get(0).shape().hiddenSize(); // routed experts may work in a latent space
        Require.count(GATE, gate.columns(), hiddenSize, "columns (hidden size of the experts)");
        KernelChecks.owner(GATE, gate, routed.backend());
    }

    /**
     * The gate; the handle belongs to the caller.
     *
     * @return {@code gate} (n×D)
     */
    @Override
    public Parameters parameters() {
        return Parameters.of(GATE, gate.share());
    }

    /**
     * A merge with another gate.
     *
     * @param parameters {@code gate} (n×D)
     * @return a new merge
     */
    @Override
    public GatedMerge withParameters(Parameters parameters) {
        Matrix other = parameters.requireNames(Set.of(GATE)).get(GATE);
        KernelChecks.owner(GATE, other, gate.backend());
        KernelChecks.shape(GATE, other, gate.rows(), gate.columns(), "shape of the gate it replaces");
        return new GatedMerge(other, score);
    }

    /** Gives up the merge's handle on its gate; doing so again changes nothing. No pass can go backward then. */
    @Override
    public void close() {
        gate.close();
    }
}
