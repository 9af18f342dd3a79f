package org.moe4j.bench.layer;

import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.CapacityWords.Rows;
import org.moe4j.bench.layer.RouterWords.Groups;
import org.moe4j.bench.layer.RouterWords.Weighing;

/** Random routers: each value drawn for itself, as far as the others allow it. */
final class RouterDraw {
    private static final List<String> SCORES = List.of("softmax", "sigmoid", "sqrt-softplus");
    private static final List<String> PLACES = List.of("in-sum", "per-score", "floor");

    private final SplittableRandom random;

    private RouterDraw(SplittableRandom random) {
        this.random = random;
    }

    /** What the number of experts per token has to be. */
    enum Count {
        ANY,
        ONE,
        ALL
    }

    /**
     * A router of at most 12 experts.
     *
     * @param unit whether weights have to add up to 1, with a scale of 1
     * @param unscaled whether the scale has to be 1
     */
    static RouterWords draw(SplittableRandom random, Count count, boolean unit, boolean unscaled) {
        return new RouterDraw(random).router(count, unit, unscaled);
    }

    /** In two of five cases another way to choose, where the router allows one. */
    static RouterWords choosing(SplittableRandom random, RouterWords words, boolean unit) {
        boolean plain = words.groups().isEmpty() && !words.weighing().place().equals("floor");
        if (!plain || random.nextInt(5) > 2) {
            return words;
        }
        return switch (random.nextInt(7)) {
            case 0, 1, 2 -> words.topK() > 1 ? words.withTopK(2).with(ofTwo(random, unit)) : words;
            case 3 ->
                words.withSelectionBias(List.of())
                        .with(ChoosingWords.of("sinkhorn", random.nextBoolean() ? 1e-4 : 1e-2));
            default -> unit ? words : words.withSelectionBias(List.of()).with(expertChoice(random));
        };
    }

    private static ChoosingWords ofTwo(SplittableRandom random, boolean unit) {
        return switch (random.nextInt(unit ? 2 : 5)) {
            case 0 -> ChoosingWords.of("top-two-all", 0);
            case 1 -> ChoosingWords.of("top-two-sampled", 0);
            default -> ChoosingWords.of("top-two-random", random.nextBoolean() ? 1 : 4);
        };
    }

    private static ChoosingWords expertChoice(SplittableRandom random) {
        Rows rows = new Rows(
                0,
                random.nextDouble(0.3, 1.2),
                random.nextBoolean() ? "assignments" : "tokens",
                random.nextBoolean() ? "up" : "half-even",
                1,
                1,
                "no-limit");
        String scope = random.nextBoolean() ? "batch" : random.nextBoolean() ? "3" : "sequences";
        return new ChoosingWords(
                "expert-choice", 0, Optional.of(new CapacityWords(rows, scope, "position", "unchanged", "zero")));
    }

    private RouterWords router(Count count, boolean unit, boolean unscaled) {
        boolean grouped = random.nextInt(5) < 2;
        int groups = grouped ? random.nextInt(1, 5) : 1;
        int size = grouped ? random.nextInt(1, 4) : random.nextInt(1, 6);
        int experts = groups * size;
        int kept = count == Count.ALL ? groups : random.nextInt(1, groups + 1);
        int topK = count == Count.ONE ? 1 : count == Count.ALL ? experts : random.nextInt(1, kept * size + 1);
        Weighing weighing = unit ? unitWeighing() : anyWeighing();
        String score = weighing.renormalization().equals("softmax-of-selected") ? "softmax" : one(SCORES);
        boolean biased = random.nextInt(3) == 0;
        return new RouterWords(
                experts,
                topK,
                score,
                score.equals("sigmoid") ? pick(0, 1e-7, 0.25) : 0,
                grouped ? Optional.of(groups(groups, kept, size, topK)) : Optional.empty(),
                biased ? bias(experts) : List.of(),
                random.nextInt(3) == 0,
                weighing,
                unit || unscaled ? 1 : pick(1, 2.5, 0.4),
                random.nextInt(4) == 0 ? "double" : "backend");
    }

    private Groups groups(int count, int kept, int size, int topK) {
        boolean perKept = topK % kept == 0 && topK / kept <= size;
        int kind = random.nextInt(perKept ? 3 : 2);
        String score =
                kind == 0 ? "max" : kind == 1 ? "sum-of-top-" + random.nextInt(1, size + 1) : "top-k-per-kept-group";
        return new Groups(count, kept, score, random.nextBoolean() ? "minus-infinity" : "zero");
    }

    /** Numbers that a float holds exactly, mostly negative, so that some choice scores fall below a fill of 0. */
    private List<Double> bias(int experts) {
        return IntStream.range(0, experts)
                .mapToObj(e -> (double) (float) random.nextDouble(-1, 0.5))
                .toList();
    }

    private Weighing unitWeighing() {
        return switch (random.nextInt(4)) {
            case 0 -> Weighing.of("softmax-of-selected");
            case 1 -> new Weighing("sum", pick(1e-20, 0.05, 0.5), "per-score", 1);
            case 2 -> new Weighing("norm", 0, "in-sum", 1);
            default -> Weighing.of("sum");
        };
    }

    private Weighing anyWeighing() {
        return switch (random.nextInt(6)) {
            case 0 -> Weighing.of("none");
            case 1 -> Weighing.of("softmax-of-selected");
            case 2 -> new Weighing("norm", 0, "in-sum", pick(0.5, 1, 2, 3));
            case 3 -> Weighing.of("sum");
            default -> new Weighing("sum", pick(1e-20, 0.05, 0.5, 2), one(PLACES), 1);
        };
    }

    private String one(List<String> words) {
        return words.get(random.nextInt(words.size()));
    }

    private double pick(double... values) {
        return values[random.nextInt(values.length)];
    }
}
