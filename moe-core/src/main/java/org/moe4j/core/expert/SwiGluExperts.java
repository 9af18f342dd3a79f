package org.moe4j.core.expert;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.IntFunction;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankPass.BankGradients;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * E SwiGLU experts of one shape, run as grouped products; a shared expert is a bank of one.
 *
 * <p>{@code y = (silu(x·W_gateᵀ) ⊙ (x·W_upᵀ)) · W_downᵀ}. Source: Shazeer, GLU Variants Improve Transformer (2020), and
 * Equation 74 of the report on Olmo's MoE recipe.
 */
public final class SwiGluExperts implements Experts {
    private final ExpertShape shape;
    private final Backend backend;
    private final Bank bank;

    private SwiGluExperts(ExpertShape shape, Backend backend, Bank bank) {
        this.shape = shape;
        this.backend = backend;
        this.bank = bank;
    }

    /**
     * A bank of the given experts.
     *
     * @param experts at least one, all of one shape and one backend; their handles stay the caller's and may be closed
     * @return the bank
     */
    public static SwiGluExperts of(List<SwiGluWeights> experts) {
        if (experts.isEmpty()) {
            throw Require.expected("experts", "at least 1 expert", "an empty list");
        }
        SwiGluWeights first = experts.get(0);
        ExpertShape shape = new ExpertShape(experts.size(), first.hiddenSize(), first.intermediateSize());
        Backend backend = first.gate().backend();
        for (int e = 0; e < experts.size(); e++) {
            KernelChecks.owner("experts[" + e + "]", experts.get(e).gate(), backend);
            KernelChecks.shape(
                    "experts[" + e + "].gate",
                    experts.get(e).gate(),
                    shape.intermediateSize(),
                    shape.hiddenSize(),
                    "shape of experts[0].gate");
        }
        Bank bank = backend.prepare(
                experts.stream().map(SwiGluWeights::gate).toList(),
                experts.stream().map(SwiGluWeights::up).toList(),
                experts.stream().map(SwiGluWeights::down).toList());
        return new SwiGluExperts(shape, backend, bank);
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
        return random(
                shape,
                backend,
                seed,
                Initializer.normal(1 / Math.sqrt(shape.hiddenSize())),
                Initializer.normal(1 / Math.sqrt(shape.intermediateSize())));
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
        SplittableRandom seeds = new SplittableRandom(seed);
        int d = shape.hiddenSize();
        int f = shape.intermediateSize();
        List<SwiGluWeights> experts = new ArrayList<>(shape.count());
        for (int e = 0; e < shape.count(); e++) {
            experts.add(new SwiGluWeights(
                    gateUp.draw(backend, f, d, seeds.nextLong()),
                    gateUp.draw(backend, f, d, seeds.nextLong()),
                    down.draw(backend, d, f, seeds.nextLong())));
        }
        SwiGluExperts bank = of(experts);
        experts.forEach(SwiGluWeights::close);
        return bank;
    }

    @Override
    public ExpertShape shape() {
        return shape;
    }

    @Override
    public Backend backend() {
        return backend;
    }

    /**
     * Weights of one expert in the layout of checkpoints.
     *
     * @param index 0 ≤ index &lt; E
     * @return handles of the caller
     */
    public SwiGluWeights expert(int index) {
        Objects.checkIndex(index, shape.count());
        return new SwiGluWeights(bank.gate(index), bank.up(index), bank.down(index));
    }

    @Override
    public ExpertsPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        return new Pass(bank.forward(tokens, rows, groups));
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        return bank.apply(tokens, rows, groups);
    }

    @Override
    public Parameters parameters() {
        return named(bank::gate, bank::up, bank::down);
    }

    @Override
    public SwiGluExperts withParameters(Parameters parameters) {
        Set<String> names = new LinkedHashSet<>();
        for (int e = 0; e < shape.count(); e++) {
            names.addAll(List.of(e + ".gate", e + ".up", e + ".down"));
        }
        parameters.requireNames(names);
        List<SwiGluWeights> experts = new ArrayList<>(shape.count());
        for (int e = 0; e < shape.count(); e++) {
            Matrix gate = parameters.get(e + ".gate");
            KernelChecks.owner(e + ".gate", gate, backend);
            KernelChecks.shape(
                    e + ".gate", gate, shape.intermediateSize(), shape.hiddenSize(), "shape of the expert it replaces");
            experts.add(new SwiGluWeights(gate, parameters.get(e + ".up"), parameters.get(e + ".down")));
        }
        return of(experts);
    }

    private Parameters named(IntFunction<Matrix> gate, IntFunction<Matrix> up, IntFunction<Matrix> down) {
        Map<String, Matrix> values = new LinkedHashMap<>();
        for (int e = 0; e < shape.count(); e++) {
            values.put(e + ".gate", gate.apply(e));
            values.put(e + ".up", up.apply(e));
            values.put(e + ".down", down.apply(e));
        }
        return Parameters.of(values);
    }

    @Override
    public void close() {
        bank.close();
    }

    private final class Pass implements ExpertsPass {
        private final BankPass pass;

        Pass(BankPass pass) {
            this.pass = pass;
        }

        @Override
        public Matrix output() {
            return pass.output();
        }

        @Override
        public Gradients backward(Matrix dOutput) {
            BankGradients d = pass.backward(dOutput);
            return new Gradients(d.input(), named(d.gate()::get, d.up()::get, d.down()::get));
        }

        @Override
        public void close() {
            pass.close();
        }
    }
}
