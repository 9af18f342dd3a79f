package org.moe4j.bench.layer;

import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.bench.layer.CapacityWords.Rows;

/** Random capacities: each value drawn for itself, as far as the router allows it. */
final class CapacityDraw {
    private static final List<String> SHARES = List.of("assignments", "assignments-factor-first", "tokens");
    private static final List<String> ROUNDINGS = List.of("up", "down", "half-even");
    private static final List<String> SCOPES = List.of("batch", "batch", "batch", "sequences", "2", "3");
    private static final List<String> ORDERS = List.of("position", "choice", "weight", "batch-priority");
    private static final List<String> UNSERVED = List.of("zero", "zero", "passed", "passed-weighted");

    private final SplittableRandom random;

    private CapacityDraw(SplittableRandom random) {
        this.random = random;
    }

    static CapacityWords draw(SplittableRandom random, RouterWords router) {
        return new CapacityDraw(random).words(router);
    }

    private CapacityWords words(RouterWords router) {
        boolean constantWeights =
                router.topK() == 1 && !router.weighing().renormalization().equals("none");
        String order = ORDERS.get(random.nextInt(constantWeights ? 2 : 4));
        String kept = router.scale() == 1 && random.nextInt(3) == 0 ? "unit-sum" : "unchanged";
        return new CapacityWords(rows(), one(SCOPES), order, kept, one(UNSERVED));
    }

    private Rows rows() {
        if (random.nextInt(6) == 0) {
            return new Rows(random.nextInt(1, 3), 1, "assignments", "up", 0, 1, "no-limit");
        }
        int minimum = random.nextInt(3) == 0 ? random.nextInt(1, 3) : 0;
        return new Rows(
                0,
                random.nextDouble(0.3, 1.5),
                one(SHARES),
                one(ROUNDINGS),
                minimum,
                random.nextInt(3) == 0 ? 2 : 1,
                minimum > 0 || random.nextBoolean() ? "no-limit" : "no-rows");
    }

    private String one(List<String> words) {
        return words.get(random.nextInt(words.size()));
    }
}
