package org.moe4j.core.expert;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankPass.BankGradients;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * E feed-forward experts of one shape and one {@link Activation} a, run as grouped products; a shared expert is a bank of
 * one. With a gate {@code y = a(x·W_gateᵀ + b_gate, x·W_upᵀ + b_up) · W_downᵀ + b_down}, without one
 * {@code y = a(x·W_upᵀ + b_up) · W_downᵀ + b_down}; the biases are those of all projections or of none. The down bias is
 * part of the expert's output, and is therefore multiplied by its routing weight.
 *
 * <p>Each expert has parameters named {@code gate}, {@code up} (F×D), {@code down} (D×F), {@code gateBias}, {@code upBias}
 * (1×F) and {@code downBias} (1×D), as far as it has them.
 */
public final class FeedForwardExperts implements Experts {
    private final ExpertShape shape;
    private final Backend backend;
    private final List<BankPart> parts;
    private final Bank bank;

    private FeedForwardExperts(ExpertShape shape, Backend backend, Bank bank) {
        this.shape = shape;
        this.backend = backend;
        this.parts = BankPart.of(shape.activation(), shape.biases());
        this.bank = bank;
    }

    /**
     * A bank of the given experts.
     *
     * @param activation what stands between the projections
     * @param experts at least one, all of one shape and one backend, with biases in all or in none; their handles stay the
     *     caller's and may be closed
     * @return the bank
     * @throws IllegalArgumentException for no expert, or one with other parameters than the activation has
     */
    public static FeedForwardExperts of(Activation activation, List<Parameters> experts) {
        if (experts.isEmpty()) {
            throw Require.expected("experts", "at least 1 expert", "an empty list");
        }
        Parameters first = experts.get(0);
        boolean biases = first.names().contains(BankPart.DOWN_BIAS.key());
        first.requireNames(names(activation, biases));
        Matrix up = first.get(BankPart.UP.key());
        ExpertShape shape = new ExpertShape(experts.size(), up.columns(), up.rows(), activation, biases);
        return of(shape, up.backend(), "experts[", "].", "sizes of experts[0].up", experts);
    }

    private static Set<String> names(Activation activation, boolean biases) {
        Set<String> names = new LinkedHashSet<>();
        BankPart.of(activation, biases).forEach(part -> names.add(part.key()));
        return names;
    }

    /** Checks each matrix of each expert, which messages call by its index between the given words, and prepares them. */
    private static FeedForwardExperts of(
            ExpertShape shape, Backend backend, String before, String after, String why, List<Parameters> experts) {
        Map<BankPart, List<Matrix>> weights = new EnumMap<>(BankPart.class);
        for (int e = 0; e < experts.size(); e++) {
            experts.get(e).requireNames(names(shape.activation(), shape.biases()));
            for (BankPart part : BankPart.of(shape.activation(), shape.biases())) {
                Matrix matrix = experts.get(e).get(part.key());
                String name = before + e + after + part.key();
                KernelChecks.owner(name, matrix, backend);
                int rows = part.rows(shape.hiddenSize(), shape.intermediateSize());
                int columns = part.columns(shape.hiddenSize(), shape.intermediateSize());
                KernelChecks.shape(name, matrix, rows, columns, why);
                weights.computeIfAbsent(part, absent -> new ArrayList<>()).add(matrix);
            }
        }
        return new FeedForwardExperts(shape, backend, backend.prepare(new BankWeights(shape.activation(), weights)));
    }

    /**
     * Random experts whose projections keep the variance: weights normal with standard deviation {@code 1/√in}, biases
     * too, in being what their projection reads.
     *
     * @param shape sizes, activation and whether there are biases
     * @param backend makes the weights
     * @param seed the same seed gives the same weights on every backend
     * @return the bank
     */
    public static FeedForwardExperts random(ExpertShape shape, Backend backend, long seed) {
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
     * @param shape sizes, activation and whether there are biases
     * @param backend makes the weights
     * @param seed the same seed gives the same weights on every backend
     * @param gateUp draws the gate and up projections and their biases
     * @param down draws the down projections and their biases
     * @return the bank
     */
    public static FeedForwardExperts random(
            ExpertShape shape, Backend backend, long seed, Initializer gateUp, Initializer down) {
        SplittableRandom seeds = new SplittableRandom(seed);
        List<Parameters> experts = new ArrayList<>(shape.count());
        try (Unfinished drawn = new Unfinished()) { // the bank has handles of its own
            for (int e = 0; e < shape.count(); e++) {
                Map<String, Matrix> weights = new LinkedHashMap<>();
                for (BankPart part : BankPart.of(shape.activation(), shape.biases())) {
                    boolean inner = part != BankPart.DOWN && part != BankPart.DOWN_BIAS;
                    int rows = part.rows(shape.hiddenSize(), shape.intermediateSize());
                    int columns = part.columns(shape.hiddenSize(), shape.intermediateSize());
                    Initializer by = inner ? gateUp : down;
                    weights.put(part.key(), drawn.add(by.draw(backend, rows, columns, seeds.nextLong())));
                }
                experts.add(Parameters.of(weights));
            }
            return of(shape.activation(), experts);
        }
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
     * @return handles of the caller, named as {@link #of} takes them
     */
    public Parameters expert(int index) {
        Map<String, Matrix> weights = new LinkedHashMap<>();
        parts.forEach(part -> weights.put(part.key(), bank.weight(part, index)));
        return Parameters.of(weights);
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
    public void applyCombined(Matrix tokens, DispatchPlan plan, Matrix output, int at) {
        plan.applySummed(bank, tokens, output, at);
    }

    private interface Weight {
        Matrix of(BankPart part, int expert);
    }

    private Parameters named(Weight weight) {
        Map<String, Matrix> values = new LinkedHashMap<>();
        for (int e = 0; e < shape.count(); e++) {
            for (BankPart part : parts) {
                values.put(e + "." + part.key(), weight.of(part, e));
            }
        }
        return Parameters.of(values);
    }

    @Override
    public Parameters parameters() {
        return named(bank::weight);
    }

    @Override
    public FeedForwardExperts withParameters(Parameters parameters) {
        Set<String> names = new LinkedHashSet<>();
        for (int e = 0; e < shape.count(); e++) {
            for (BankPart part : parts) {
                names.add(e + "." + part.key());
            }
        }
        parameters.requireNames(names);
        List<Parameters> experts = new ArrayList<>(shape.count());
        for (int e = 0; e < shape.count(); e++) {
            experts.add(parameters.under(Integer.toString(e)));
        }
        return of(shape, backend, "", ".", "shape of the expert it replaces", experts);
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
            return new Gradients(d.input(), named((part, expert) -> d.get(part).get(expert)));
        }

        @Override
        public Matrix backward(Matrix dOutput, Set<String> wanted, Parameters into) {
            Map<BankPart, Map<Integer, Matrix>> buffers = new EnumMap<>(BankPart.class);
            int found = 0;
            for (int e = 0; e < shape.count(); e++) {
                for (BankPart part : parts) {
                    String name = e + "." + part.key();
                    if (wanted.contains(name)) {
                        buffers.computeIfAbsent(part, absent -> new LinkedHashMap<>())
                                .put(e, into.get(name));
                        found++;
                    }
                }
            }
            if (found < wanted.size()) {
                throw Require.expected("wanted", "names of weights, as 0.up", wanted);
            }
            return pass.backward(dOutput, buffers);
        }

        @Override
        public void close() {
            pass.close();
        }
    }
}
