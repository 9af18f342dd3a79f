package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.LayerCase.Routed;
import org.moe4j.bench.layer.LayerCase.Shared;
import org.moe4j.bench.layer.LayerCase.Sizes;
import org.moe4j.bench.layer.LayerCase.Training;
import org.moe4j.core.reference.ReferenceBackend;

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

    private static final List<String> LOSSES = List.of(
            "switch",
            "flaxformer",
            "transformers",
            "megatron",
            "megatron-sequence",
            "olmo-core",
            "olmo-core-instance",
            "megablocks",
            "deepseek-batch",
            "deepseek-sequence",
            "deepseek-v3",
            "z-loss",
            "shazeer-importance",
            "vmoe-importance");

    private static final List<String> ACTIVATIONS =
            List.of("swiglu", "swiglu", "clamped-swiglu", "silu", "relu", "relu-squared", "gelu-exact", "gelu-tanh");

    private final long seed;
    private final SplittableRandom random;
    private final boolean swiGlu;
    private final boolean unitLogits;

    private LayerDraw(long seed, boolean swiGlu, boolean unitLogits) {
        this.seed = seed;
        random = new SplittableRandom(seed);
        this.swiGlu = swiGlu;
        this.unitLogits = unitLogits;
    }

    /** The case of a seed, drawn anew until no token is near a tie; {@code excluded} counts the refused draws. */
    static LayerCase of(long seed, int[] excluded) {
        return of(seed, 1, 10, excluded);
    }

    /** The same with every width in {@code low .. high − 1}. */
    static LayerCase of(long seed, int low, int high, int[] excluded) {
        return new LayerDraw(seed, false, false).next(low, high, excluded);
    }

    /** The case of a seed with plain SwiGLU experts on tokens of full width, and their weights on the output. */
    static LayerCase ofSwiGlu(long seed, int low, int high) {
        return new LayerDraw(seed, true, false).next(low, high, new int[1]);
    }

    /** The case of a seed whose logits and gate values are about 1 whatever the width, as initializations make them. */
    static LayerCase ofUnitLogits(long seed, boolean swiGlu, int low, int high, int[] excluded) {
        return new LayerDraw(seed, swiGlu, true).next(low, high, excluded);
    }

    private LayerCase next(int low, int high, int[] excluded) {
        while (true) {
            LayerCase drawn = LibraryDraws.in(draw(low, high), ReferenceBackend.instance());
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

    private LayerCase draw(int low, int high) {
        int kind = (int) (seed % 20);
        int tokens = kind == 0 ? 0 : kind == 1 ? 1 : random.nextInt(1, 7);
        Sizes sizes = new Sizes(tokens, random.nextInt(low, high), random.nextInt(low, high));
        MergeWords merge = merge(seed);
        RouterDraw.Count count =
                kind == 2 ? RouterDraw.Count.ONE : kind == 3 ? RouterDraw.Count.ALL : RouterDraw.Count.ANY;
        RouterWords router = RouterDraw.choosing(
                random,
                RouterDraw.draw(random, count, merge.presumesUnitWeights(), merge.presumesUnscaled()),
                merge.presumesUnitWeights());
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
        Shared shared = new Shared(kind(), List.copyOf(widths));
        Optional<CapacityWords> capacity =
                random.nextInt(5) < 2 && router.choosing().fixedCount()
                        ? Optional.of(CapacityDraw.draw(random, router))
                        : Optional.empty();
        Situation situation = situation(random, tokens, router.choosing().ofTwo());
        Routed routed = routed(router, merge, low, high);
        NoiseWords noise = noise(random);
        return new LayerCase(
                "seed " + seed,
                sizes,
                router,
                routed,
                shared,
                merge,
                capacity,
                new Training(noise, losses(random, router, noise, situation), situation, Draws.NONE),
                parameters(
                        random,
                        unitLogits ? 1 / Math.sqrt(sizes.hidden()) : 1,
                        sizes,
                        router,
                        routed,
                        shared,
                        merge,
                        noise),
                normal(random, tokens, sizes.hidden(), 1),
                normal(random, tokens, sizes.hidden(), 1));
    }

    /** Clamps are near enough that some numbers meet them. */
    private ExpertWords kind() {
        if (swiGlu) {
            return ExpertWords.SWIGLU;
        }
        String activation = ACTIVATIONS.get(random.nextInt(ACTIVATIONS.size()));
        boolean biases = random.nextInt(3) == 0;
        return activation.equals("clamped-swiglu")
                ? new ExpertWords(activation, random.nextDouble(0.5, 2), 0.75, random.nextInt(2), biases)
                : ExpertWords.of(activation, biases);
    }

    /** In most cases sequences, one of them perhaps empty, padding and a seed. */
    private static Situation situation(SplittableRandom random, int tokens, boolean drawsExperts) {
        if (!drawsExperts && random.nextInt(5) == 0) {
            return Situation.PLAIN;
        }
        int first = random.nextInt(0, tokens + 1);
        int second = random.nextInt(first, tokens + 1);
        OptionalLong seed =
                random.nextInt(drawsExperts ? 8 : 4) == 0 ? OptionalLong.empty() : OptionalLong.of(random.nextLong());
        List<Integer> padding = IntStream.range(0, tokens)
                .filter(t -> random.nextInt(4) == 0)
                .boxed()
                .toList();
        return new Situation(List.of(first, second - first, tokens - second), padding, seed);
    }

    private static NoiseWords noise(SplittableRandom random) {
        double tokens = random.nextInt(4) == 0 ? 0.25 : 0;
        return switch (random.nextInt(6)) {
            case 0 -> new NoiseWords("input-jitter", 0.25, tokens);
            case 1 -> new NoiseWords("fixed-normal", random.nextDouble(0.5, 2), tokens);
            case 2 -> new NoiseWords("learned-normal", random.nextBoolean() ? 0.01 : 0.5, tokens);
            default -> new NoiseWords("none", 0, tokens);
        };
    }

    private static List<LossWords> losses(
            SplittableRandom random, RouterWords router, NoiseWords noise, Situation situation) {
        List<LossWords> losses = new ArrayList<>();
        if (!router.choosing().fixedCount()) {
            return losses; // K of a routing is then that of the token with the most experts
        }
        boolean ordinary = router.choosing().equals(ChoosingWords.TOP_K)
                && router.groups().isEmpty()
                && router.selectionBias().isEmpty();
        if (noise.addsToLogits() && situation.noiseSeed().isPresent() && ordinary && random.nextBoolean()) {
            losses.add(new LossWords("shazeer-load", random.nextDouble(0.5, 2)));
            losses.add(new LossWords("vmoe-load", random.nextDouble(0.5, 2)));
        }
        for (int left = random.nextInt(3); left > 0; left--) {
            losses.add(new LossWords(LOSSES.get(random.nextInt(LOSSES.size())), random.nextDouble(0.5, 2)));
        }
        return losses;
    }

    private Routed routed(RouterWords router, MergeWords merge, int low, int high) {
        if (swiGlu) {
            return Routed.SWIGLU;
        }
        OptionalInt latent = random.nextInt(4) == 0 ? OptionalInt.of(random.nextInt(low, high)) : OptionalInt.empty();
        boolean one = router.topK() == 1 && !router.choosing().rule().equals("expert-choice");
        boolean weighsInput = one && !merge.presumesUnitWeights() && random.nextBoolean();
        return new Routed(kind(), latent, weighsInput ? "input" : "output");
    }

    /** Random parameters of a layer, under the names of the library; the router's weight with the given deviation. */
    static Map<String, Numbers> parameters(
            SplittableRandom random,
            double deviation,
            Sizes sizes,
            RouterWords router,
            Routed routed,
            Shared shared,
            MergeWords merge,
            NoiseWords noise) {
        Map<String, Numbers> parameters = new LinkedHashMap<>();
        int d = sizes.hidden();
        parameters.put("router.weight", normal(random, router.experts(), d, deviation));
        if (router.logitBias()) {
            parameters.put("router.bias", normal(random, 1, router.experts(), 1));
        }
        if (noise.learned()) {
            parameters.put("router.noise", normal(random, router.experts(), d, deviation));
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
                    "merge.gate", normal(random, merge.gateRows(shared.widths().size()), d, deviation));
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
