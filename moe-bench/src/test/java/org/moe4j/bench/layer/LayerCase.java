package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.testing.RoutingGap;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/**
 * A random layer as plain numbers, from which a {@link MoeLayer} is built on any backend and which
 * {@link TokenwiseLayer} computes by its definition.
 */
record LayerCase(
        long seed,
        Sizes sizes,
        boolean renormalize,
        double routerScale,
        String merge,
        List<Integer> sharedWidths,
        OptionalDouble capacity,
        Map<String, Numbers> parameters,
        Numbers tokens,
        Numbers dOutput) {

    /** T, D, F, E, K. */
    record Sizes(int tokens, int hidden, int width, int experts, int topK) {}

    /** A matrix of plain numbers. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Numbers(int rows, int columns, double[] values) {
        Matrix on(Backend backend) {
            return backend.matrix(rows, columns, values);
        }

        double[] row(int row) {
            return Arrays.copyOfRange(values, row * columns, (row + 1) * columns);
        }
    }

    static final List<String> CONVENTIONS =
            List.of("olmo", "routed-unit-sum", "equal-branch-mass", "width-proportional");
    private static final List<String> MERGES = List.of(
            "none",
            "olmo",
            "routed-unit-sum",
            "equal-branch-mass",
            "width-proportional",
            "sum",
            "scaled",
            "sigmoid-gated");

    /** The case of a seed, drawn anew until no token is near a tie; {@code excluded} counts the refused draws. */
    static LayerCase of(long seed, int[] excluded) {
        return of(seed, 1, 10, excluded);
    }

    /** The same with every width in {@code low .. high − 1}. */
    static LayerCase of(long seed, int low, int high, int[] excluded) {
        SplittableRandom random = new SplittableRandom(seed);
        while (true) {
            LayerCase drawn = draw(seed, random, low, high);
            double[] scores = TokenwiseLayer.scores(drawn);
            if (RoutingGap.of(scores, drawn.sizes.experts(), drawn.sizes.topK()) >= RoutingGap.ENOUGH) {
                return drawn;
            }
            excluded[0]++;
        }
    }

    private static LayerCase draw(long seed, SplittableRandom random, int low, int high) {
        int kind = (int) (seed % 20);
        int experts = random.nextInt(1, 6);
        int topK = kind == 2 ? 1 : kind == 3 ? experts : random.nextInt(1, experts + 1);
        int tokens = kind == 0 ? 0 : kind == 1 ? 1 : random.nextInt(1, 7);
        Sizes sizes = new Sizes(tokens, random.nextInt(low, high), random.nextInt(low, high), experts, topK);
        String merge = MERGES.get((int) (seed % MERGES.size()));
        List<Integer> shared = new ArrayList<>();
        int branches = merge.equals("none") ? 0 : merge.equals("sigmoid-gated") ? 1 : random.nextInt(0, 3);
        for (int i = 0; i < branches; i++) {
            shared.add(random.nextInt(low, high));
        }
        boolean renormalize = CONVENTIONS.contains(merge) || random.nextBoolean();
        double scale = CONVENTIONS.contains(merge) || merge.equals("scaled") || random.nextBoolean() ? 1 : 2.5;
        OptionalDouble capacity =
                random.nextInt(3) == 0 ? OptionalDouble.of(random.nextDouble(0.3, 1.5)) : OptionalDouble.empty();
        return new LayerCase(
                seed,
                sizes,
                renormalize,
                scale,
                merge,
                List.copyOf(shared),
                capacity,
                drawParameters(random, sizes, shared, merge),
                normal(random, tokens, sizes.hidden(), 1),
                normal(random, tokens, sizes.hidden(), 1));
    }

    private static Map<String, Numbers> drawParameters(
            SplittableRandom random, Sizes sizes, List<Integer> shared, String merge) {
        Map<String, Numbers> parameters = new LinkedHashMap<>();
        int d = sizes.hidden();
        parameters.put("router.weight", normal(random, sizes.experts(), d, 1));
        for (int e = 0; e < sizes.experts(); e++) {
            drawExpert(random, parameters, "experts." + e, d, sizes.width());
        }
        for (int i = 0; i < shared.size(); i++) {
            drawExpert(random, parameters, "shared." + i, d, shared.get(i));
        }
        if (merge.equals("sigmoid-gated")) {
            parameters.put("merge.gate", normal(random, 1, d, 1));
        }
        return parameters;
    }

    private static void drawExpert(
            SplittableRandom random, Map<String, Numbers> into, String prefix, int hidden, int width) {
        into.put(prefix + ".gate", normal(random, width, hidden, 1 / Math.sqrt(hidden)));
        into.put(prefix + ".up", normal(random, width, hidden, 1 / Math.sqrt(hidden)));
        into.put(prefix + ".down", normal(random, hidden, width, 1 / Math.sqrt(width)));
    }

    /** Normal numbers that a float holds exactly, so that every precision computes on the same ones. */
    private static Numbers normal(SplittableRandom random, int rows, int columns, double deviation) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (deviation * random.nextGaussian());
        }
        return new Numbers(rows, columns, values);
    }

    ActiveWidths widths() {
        int shared = sharedWidths.stream().mapToInt(width -> width).sum();
        return new ActiveWidths(sizes.topK(), sizes.width(), shared);
    }

    /** The layer on a backend. */
    MoeLayer on(Backend backend) {
        RouterConfig config = RouterConfig.topK(sizes.experts(), sizes.topK())
                .withRenormalization(renormalize ? new Renormalization.Sum() : new Renormalization.None())
                .withScale(routerScale);
        List<SwiGluWeights> bank = new ArrayList<>();
        for (int e = 0; e < sizes.experts(); e++) {
            bank.add(weights(backend, "experts." + e));
        }
        MoeLayer layer = MoeLayer.of(
                TopKRouter.of(config, parameters.get("router.weight").on(backend)), SwiGluExperts.of(bank));
        layer = capacity.isPresent() ? layer.withCapacity(Capacity.factor(capacity.getAsDouble())) : layer;
        if (merge.equals("none")) {
            return layer;
        }
        List<Experts> shared = new ArrayList<>();
        for (int i = 0; i < sharedWidths.size(); i++) {
            shared.add(SwiGluExperts.of(List.of(weights(backend, "shared." + i))));
        }
        return layer.withShared(new SharedBranch(shared, outputMerge(backend)));
    }

    private OutputMerge outputMerge(Backend backend) {
        return switch (merge) {
            case "olmo" -> ScaledMerge.olmo(widths());
            case "routed-unit-sum" -> ScaledMerge.routedUnitSum(widths());
            case "equal-branch-mass" -> ScaledMerge.equalBranchMass(widths());
            case "width-proportional" -> ScaledMerge.widthProportional(widths());
            case "sum" -> ScaledMerge.sum();
            case "scaled" -> ScaledMerge.scaled(-1.5, 0.75);
            default -> new GatedMerge(parameters.get("merge.gate").on(backend), SharedScore.SIGMOID);
        };
    }

    private SwiGluWeights weights(Backend backend, String prefix) {
        return new SwiGluWeights(
                parameters.get(prefix + ".gate").on(backend),
                parameters.get(prefix + ".up").on(backend),
                parameters.get(prefix + ".down").on(backend));
    }

    @Override
    public String toString() {
        return "seed " + seed + ": " + sizes + ", " + (renormalize ? "renormalised" : "raw") + ", " + merge
                + " with shared " + sharedWidths + ", capacity " + capacity;
    }
}
