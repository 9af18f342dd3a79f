package org.moe4j.core.expert;

import java.util.List;
import java.util.Map;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * {@link FeedForwardExperts} with plain SwiGLU and no biases, whose weights have a type of their own.
 *
 * <p>{@code y = (silu(x·W_gateᵀ) ⊙ (x·W_upᵀ)) · W_downᵀ}. Source: Shazeer, GLU Variants Improve Transformer (2020), and
 * Equation 74 of the report on Olmo's MoE recipe.
 */
public final class SwiGluExperts implements Experts {
    private final FeedForwardExperts bank;

    private SwiGluExperts(FeedForwardExperts bank) {
        this.bank = bank;
    }

    /**
     * A bank of the given experts.
     *
     * @param experts at least one, all of one shape and one backend; their handles stay the caller's and may be closed
     * @return the bank
     */
    public static SwiGluExperts of(List<SwiGluWeights> experts) {
        return new SwiGluExperts(FeedForwardExperts.of(
                new SwiGlu(), experts.stream().map(SwiGluExperts::named).toList()));
    }

    private static Parameters named(SwiGluWeights weights) {
        return Parameters.of(Map.of(
                BankPart.GATE.key(), weights.gate(),
                BankPart.UP.key(), weights.up(),
                BankPart.DOWN.key(), weights.down()));
    }

    /**
     * Random experts whose projections keep the variance: normal with standard deviation {@code 1/√in}.
     *
     * @param shape sizes
     * @param backend makes the weights
     * @param seed the same seed gives the same weights on every backend
     * @return the bank
     */
    public static SwiGluExperts random(ExpertShape shape, Backend backend, long seed) {
        return new SwiGluExperts(FeedForwardExperts.random(plain(shape), backend, seed));
    }

    /**
     * Random experts.
     *
     * @param shape sizes
     * @param backend makes the weights
     * @param seed the same seed gives the same weights on every backend
     * @param gateUp draws the gate and up projections
     * @param down draws the down projections
     * @return the bank
     */
    public static SwiGluExperts random(
            ExpertShape shape, Backend backend, long seed, Initializer gateUp, Initializer down) {
        return new SwiGluExperts(FeedForwardExperts.random(plain(shape), backend, seed, gateUp, down));
    }

    private static ExpertShape plain(ExpertShape shape) {
        if (!shape.activation().equals(new SwiGlu()) || shape.biases()) {
            throw Require.expected(
                    "shape", "plain SwiGLU experts without biases", shape, "use FeedForwardExperts for others");
        }
        return shape;
    }

    @Override
    public ExpertShape shape() {
        return bank.shape();
    }

    @Override
    public Backend backend() {
        return bank.backend();
    }

    /**
     * Weights of one expert in the layout of checkpoints.
     *
     * @param index 0 ≤ index &lt; E
     * @return handles of the caller
     */
    public SwiGluWeights expert(int index) {
        Parameters weights = bank.expert(index);
        return new SwiGluWeights(
                weights.get(BankPart.GATE.key()), weights.get(BankPart.UP.key()), weights.get(BankPart.DOWN.key()));
    }

    @Override
    public ExpertsPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        return bank.forward(tokens, rows, groups);
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        return bank.apply(tokens, rows, groups);
    }

    @Override
    public void applyCombined(Matrix tokens, DispatchPlan plan, Matrix output, int at) {
        bank.applyCombined(tokens, plan, output, at);
    }

    @Override
    public Parameters parameters() {
        return bank.parameters();
    }

    @Override
    public SwiGluExperts withParameters(Parameters parameters) {
        return new SwiGluExperts(bank.withParameters(parameters));
    }

    @Override
    public void close() {
        bank.close();
    }
}
