package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.SplittableRandom;
import java.util.function.IntToDoubleFunction;
import org.moe4j.bench.study.collapse.RoundingBound.UnitCoefficients;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

/** One size on one backend: the same weights in several partitions, multiplied in four ways, beside the wide expert. */
final class FunctionRun implements AutoCloseable {
    /** Of the fixed kind, for as many experts as there are; none of them is exact in binary. */
    static final List<Double> CONSTANTS = List.of(0.7, 1.3, -0.4, 1.9, 0.6, 2.2);

    private static final long SEED = 68;

    private final FunctionSize size;
    private final Backend backend;
    private final SwiGluWeights weights;
    private final Matrix tokens;
    private final Matrix zeros;
    private final Matrix gates;
    private final RoundingBound bound;

    private FunctionRun(FunctionSize size, Backend backend) {
        this.size = size;
        this.backend = backend;
        SplittableRandom seeds = new SplittableRandom(SEED);
        Initializer inner = Initializer.normal(1 / Math.sqrt(size.hiddenSize()));
        Initializer outer = Initializer.normal(1 / Math.sqrt(size.width()));
        int most = size.partitions().stream().mapToInt(List::size).max().orElse(1);
        try (Unfinished made = new Unfinished()) {
            weights = made.add(new SwiGluWeights(
                    made.add(inner.draw(backend, size.width(), size.hiddenSize(), seeds.nextLong())),
                    made.add(inner.draw(backend, size.width(), size.hiddenSize(), seeds.nextLong())),
                    made.add(outer.draw(backend, size.hiddenSize(), size.width(), seeds.nextLong()))));
            tokens = made.add(Initializer.normal(1).draw(backend, size.tokens(), size.hiddenSize(), seeds.nextLong()));
            gates = made.add(inner.draw(backend, most, size.hiddenSize(), seeds.nextLong()));
            zeros = made.add(
                    backend.matrix(size.tokens(), size.hiddenSize(), new double[size.tokens() * size.hiddenSize()]));
            bound = new RoundingBound(weights, tokens);
            made.keep();
        }
    }

    static List<FunctionRow> run(FunctionSize size, Backend backend, Runnable afterPartition) {
        List<FunctionRow> rows = new ArrayList<>();
        try (FunctionRun run = new FunctionRun(size, backend)) {
            for (List<Integer> widths : size.partitions()) {
                rows.addAll(run.partition(widths));
                afterPartition.run();
            }
        }
        return rows;
    }

    private List<FunctionRow> partition(List<Integer> widths) {
        List<FunctionRow> rows = new ArrayList<>();
        try (BothForms forms = new BothForms(weights, widths, tokens)) {
            for (SharedCoefficients kind : SharedCoefficients.values()) {
                if (kind.collapse() || widths.size() > 1) { // one expert has no gates that differ
                    rows.add(row(forms, kind));
                }
            }
        }
        return rows;
    }

    /** Outputs of both forms, and the coefficients as the parts have them. */
    private record Outcome(Matrix parts, Matrix wide, UnitCoefficients coefficients) implements AutoCloseable {
        @Override
        public void close() {
            parts.close();
            wide.close();
        }
    }

    private FunctionRow row(BothForms forms, SharedCoefficients kind) {
        try (Outcome outcome = outcome(forms, kind)) {
            double[] parts = outcome.parts().toArray();
            double[] difference = outcome.wide().toArray();
            for (int i = 0; i < difference.length; i++) {
                difference[i] -= parts[i];
            }
            return new FunctionRow(
                    size.name(),
                    forms.widths(),
                    kind,
                    backend.name(),
                    backend.unitRoundoff() > 0x1p-53,
                    Distance.norm(difference),
                    Distance.norm(Arrays.copyOf(difference, 2 * size.hiddenSize())),
                    Distance.norm(parts),
                    kind.collapse()
                            ? OptionalDouble.of(bound.share(
                                    difference,
                                    outcome.coefficients(),
                                    forms.widths().size()))
                            : OptionalDouble.empty(),
                    size.fitted() && !kind.collapse()
                            ? OptionalDouble.of(forms.residual(gates))
                            : OptionalDouble.empty(),
                    forms.costOfParts(),
                    forms.costOfWide());
        }
    }

    private Outcome outcome(BothForms forms, SharedCoefficients kind) {
        return switch (kind) {
            case UNIT ->
                new Outcome(
                        ScaledMerge.sum().merge(tokens, zeros, forms.parts()).output(),
                        ScaledMerge.sum()
                                .merge(tokens, zeros, List.of(forms.wide()))
                                .output(),
                        exact(j -> 1, forms));
            case FIXED ->
                new Outcome(forms.weightedSum(CONSTANTS), forms.wideWith(CONSTANTS), exact(CONSTANTS::get, forms));
            case COMMON_GATE -> commonGate(forms);
            case DISTINCT_GATES -> distinctGates(forms);
        };
    }

    /** n equal rows of a gate for the parts, one such row for the wide expert. */
    private Outcome commonGate(BothForms forms) {
        try (Matrix rows = backend.gatherRows(gates, new int[forms.widths().size()]);
                Matrix one = backend.gatherRows(gates, new int[1]);
                GatedMerge several = new GatedMerge(rows, SharedScore.SIGMOID);
                GatedMerge single = new GatedMerge(one, SharedScore.SIGMOID)) {
            MergePass wide = single.merge(tokens, zeros, List.of(forms.wide()));
            return new Outcome(several.merge(tokens, zeros, forms.parts()).output(), wide.output(), gated(wide));
        }
    }

    /** No wide expert is the same function; the one compared has each gate's mean over the tokens in its weights. */
    private Outcome distinctGates(BothForms forms) {
        try (GatedMerge merge = forms.gatedBy(gates)) {
            MergePass pass = merge.merge(tokens, zeros, forms.parts());
            List<Double> means = new ArrayList<>();
            for (int j = 0; j < forms.widths().size(); j++) {
                double sum = 0;
                for (int t = 0; t < size.tokens(); t++) {
                    sum += pass.sharedFactor(t, j);
                }
                means.add(sum / size.tokens());
            }
            return new Outcome(pass.output(), forms.wideWith(means), exact(means::get, forms));
        }
    }

    /** The same for all tokens; rounded once when they become a part of the weights. */
    private UnitCoefficients exact(IntToDoubleFunction ofExpert, BothForms forms) {
        int[] expert = forms.expertOfUnit();
        return new UnitCoefficients() {
            @Override
            public double of(int token, int unit) {
                return ofExpert.applyAsDouble(expert[unit]);
            }

            @Override
            public double error(int token, int unit) {
                return backend.unitRoundoff() * Math.abs(of(token, unit));
            }
        };
    }

    /** {@code σ(z)}, whose derivative is at most 1/4, of a product of length D. */
    private UnitCoefficients gated(MergePass pass) {
        double[] errors = new double[size.tokens()];
        double[] x = tokens.toArray();
        double[] gate = gates.toArray();
        for (int t = 0; t < errors.length; t++) {
            double sizes = 0;
            for (int k = 0; k < size.hiddenSize(); k++) {
                sizes += Math.abs(x[t * size.hiddenSize() + k] * gate[k]);
            }
            double product = 2 * Math.sqrt(size.hiddenSize()) * backend.unitRoundoff() * sizes;
            errors[t] = product / 4 + backend.unitRoundoff() * pass.sharedFactor(t, 0);
        }
        return new UnitCoefficients() {
            @Override
            public double of(int token, int unit) {
                return pass.sharedFactor(token, 0);
            }

            @Override
            public double error(int token, int unit) {
                return errors[token];
            }
        };
    }

    @Override
    public void close() {
        weights.close();
        tokens.close();
        zeros.close();
        gates.close();
    }
}
