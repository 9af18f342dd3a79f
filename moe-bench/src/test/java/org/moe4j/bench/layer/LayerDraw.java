package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.LayerCase.Routed;
import org.moe4j.bench.layer.LayerCase.Shared;
import org.moe4j.bench.layer.LayerCase.Sizes;
import org.moe4j.bench.layer.LayerCase.Training;

/** Random layers from seeds. */
final class LayerDraw {
    private static final List<MergeWords> MERGES = List.of(
            MergeWords.of("none"),
            MergeWords.of("olmo"),
            MergeWords.of("routed-unit-sum"),
            MergeWords.of("equal-branch-mass"),
            MergeWords.of("width-proportional"),
            MergeWords.of("sum"),
            new MergeWords("scaled", -1.5, 0.75, "softmax"),
            MergeWords.of("sigmoid-gated"),
            MergeWords.of("active-mean"),
            new MergeWords("shared-router", 1, 1, "softmax"),
            new MergeWords("shared-router", 1, 1, "sigmoid"));

    private LayerDraw() {}

    /** The case of a seed, drawn anew until no token is near a tie; {@code excluded} counts the refused draws. */
    static LayerCase of(long seed, int[] excluded) {
        return of(seed, 1, 10, excluded);
    }

    /** The same with every width in {@code low .. high − 1}. */
    static LayerCase of(long seed, int low, int high, int[] excluded) {
        SplittableRandom random = new SplittableRandom(seed);
        while (true) {
            LayerCase drawn = draw(seed, random, low, high);
            if (TokenwiseLayer.awayFromJumps(drawn)) {
                return drawn;
            }
            excluded[0]++;
        }
    }

    /** Which merge the case of a seed has. */
    static MergeWords merge(long seed) {
        return MERGES.get((int) (seed % MERGES.size()));
    }

    private static LayerCase draw(long seed, SplittableRandom random, int low, int high) {
        int kind = (int) (seed % 20);
        int tokens = kind == 0 ? 0 : kind == 1 ? 1 : random.nextInt(1, 7);
        Sizes sizes = new Sizes(tokens, random.nextInt(low, high), random.nextInt(low, high));
        MergeWords merge = merge(seed);
        RouterDraw.Count count =
                kind == 2 ? RouterDraw.Count.ONE : kind == 3 ? RouterDraw.Count.ALL : RouterDraw.Count.ANY;
        RouterWords router = RouterDraw.draw(random, count, merge.presumesUnitWeights(), merge.presumesUnscaled());
        List<Integer> widths = new ArrayList<>();
        int branches =
                switch (merge.convention()) {
                    case "none" -> 0;
                    case "active-mean" -> 1;
                    case "sigmoid-gated" -> random.nextInt(1, 4);
                    case "shared-router" -> random.nextInt(2, 4);
                    default -> random.nextInt(0, 3);
                };
        for (int i = 0; i < branches; i++) {
            widths.add(random.nextInt(low, high));
        }
        Shared shared = new Shared(ExpertWords.SWIGLU, List.copyOf(widths));
        Optional<CapacityWords> capacity =
                random.nextInt(5) < 2 ? Optional.of(CapacityDraw.draw(random, router)) : Optional.empty();
        Situation situation = situation(random, tokens);
        return new LayerCase(
                "seed " + seed,
                sizes,
                router,
                Routed.SWIGLU,
                shared,
                merge,
                capacity,
                new Training(NoiseWords.NONE, List.of(), situation, Draws.NONE),
                parameters(random, 1, sizes, router, Routed.SWIGLU, shared, merge),
                normal(random, tokens, sizes.hidden(), 1),
                normal(random, tokens, sizes.hidden(), 1));
    }

    /** In every other case sequences, one of them perhaps empty. */
    private static Situation situation(SplittableRandom random, int tokens) {
        if (random.nextBoolean()) {
            return Situation.PLAIN;
        }
        int first = random.nextInt(0, tokens + 1);
        int second = random.nextInt(first, tokens + 1);
        return new Situation(List.of(first, second - first, tokens - second), List.of(), OptionalLong.empty());
    }

    /** Random parameters of a layer, under the names of the library; the router's weight with the given deviation. */
    static Map<String, Numbers> parameters(
            SplittableRandom random,
            double deviation,
            Sizes sizes,
            RouterWords router,
            Routed routed,
            Shared shared,
            MergeWords merge) {
        Map<String, Numbers> parameters = new LinkedHashMap<>();
        int d = sizes.hidden();
        parameters.put("router.weight", normal(random, router.experts(), d, deviation));
        if (router.logitBias()) {
            parameters.put("router.bias", normal(random, 1, router.experts(), 1));
        }
        int latent = routed.latent().orElse(d);
        if (routed.latent().isPresent()) {
            parameters.put("latent.down", normal(random, latent, d, 1 / Math.sqrt(d)));
            parameters.put("latent.up", normal(random, d, latent, 1 / Math.sqrt(latent)));
        }
        for (int e = 0; e < router.experts(); e++) {
            parameters.putAll(expert(random, routed.kind(), "experts." + e, latent, sizes.width()));
        }
        for (int i = 0; i < shared.widths().size(); i++) {
            parameters.putAll(expert(
                    random, shared.kind(), "shared." + i, d, shared.widths().get(i)));
        }
        if (merge.gateRows(shared.widths().size()) > 0) {
            parameters.put(
                    "merge.gate", normal(random, merge.gateRows(shared.widths().size()), d, 1));
        }
        return parameters;
    }

    private static Map<String, Numbers> expert(
            SplittableRandom random, ExpertWords kind, String prefix, int hidden, int width) {
        Map<String, Numbers> parameters = new LinkedHashMap<>();
        for (String matrix : kind.gated() ? List.of("gate", "up", "down") : List.of("up", "down")) {
            boolean down = matrix.equals("down");
            int in = down ? width : hidden;
            int out = down ? hidden : width;
            parameters.put(prefix + "." + matrix, normal(random, out, in, 1 / Math.sqrt(in)));
            if (kind.biases()) {
                parameters.put(prefix + "." + matrix + "Bias", normal(random, 1, out, 0.5));
            }
        }
        return parameters;
    }

    /** Normal numbers that a float holds exactly, so that every precision computes on the same ones. */
    static Numbers normal(SplittableRandom random, int rows, int columns, double deviation) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (deviation * random.nextGaussian());
        }
        return new Numbers(rows, columns, values);
    }
}
