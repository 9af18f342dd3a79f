package org.moe4j.bench.study.budget;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.moe4j.bench.support.Table;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;

/**
 * How long each path of the tokens takes forward, beside the whole run without a shared expert: indicative, and never the same again.
 *
 * <p>No benchmark: medians of a few runs in this process, variant after variant in turn, of fresh layers that have the experts of the
 * study and {@link #FACTOR} times its widths. In the study's own widths hardly anything but moving rows takes time.
 *
 * @param times of each variant
 */
public record PathTimes(List<Times> times) {
    /** Of the widths. */
    public static final int FACTOR = 16;

    /** T of a run. */
    public static final int TOKENS = 1024;

    private static final int RUNS = 25;
    private static final int WARM_UP = 10;
    private static final long SEED = 7;

    /**
     * Copies the list.
     *
     * @param times of each variant
     */
    public PathTimes {
        times = List.copyOf(times);
    }

    /**
     * Times of one variant, over the total of the one without a shared expert.
     *
     * @param variant of the budget
     * @param router from tokens to a routing
     * @param dispatch admission, plan, combination and merge
     * @param routed experts on their rows
     * @param shared expert on all tokens
     */
    public record Times(BudgetVariant variant, double router, double dispatch, double routed, double shared) {
        /**
         * Of all paths.
         *
         * @return the sum
         */
        public double total() {
            return router + dispatch + routed + shared;
        }
    }

    /**
     * Measures; nothing else should run meanwhile.
     *
     * @param backend where the layers run
     * @return ratios of medians
     */
    public static PathTimes measure(Backend backend) {
        try (Unfinished made = new Unfinished()) { // closes tokens and layers in any case
            int hidden = FACTOR * BudgetLayers.HIDDEN;
            Matrix tokens = made.add(Initializer.normal(1).draw(backend, TOKENS, hidden, SEED));
            List<Runs> all = new ArrayList<>();
            for (BudgetVariant variant : BudgetVariant.values()) {
                MoeLayer layer = made.add(BudgetLayers.student(variant, backend, SEED + 1, FACTOR));
                all.add(new Runs(variant, layer, new ArrayList<>()));
            }
            for (int run = -WARM_UP; run < RUNS; run++) {
                for (Runs of : all) {
                    Clock clock = new Clock();
                    run(of.layer(), tokens, clock).close();
                    if (run >= 0) {
                        of.nanoseconds().add(clock.nanoseconds);
                    }
                }
            }
            return ofMedians(all);
        }
    }

    /** Nanoseconds of the paths, run by run. */
    private record Runs(BudgetVariant variant, MoeLayer layer, List<long[]> nanoseconds) {
        double median(int path) {
            return nanoseconds.stream().mapToLong(of -> of[path]).sorted().toArray()[nanoseconds.size() / 2];
        }
    }

    private static PathTimes ofMedians(List<Runs> all) {
        Runs none = all.get(0);
        double whole = IntStream.range(0, Clock.PATHS).mapToDouble(none::median).sum();
        return new PathTimes(all.stream()
                .map(of -> new Times(
                        of.variant(),
                        of.median(Clock.ROUTER) / whole,
                        of.median(Clock.DISPATCH) / whole,
                        of.median(Clock.ROUTED) / whole,
                        of.median(Clock.SHARED) / whole))
                .toList());
    }

    /** Adds what passed since the last reading to a path. */
    static final class Clock {
        static final int PATHS = 4;
        private static final int ROUTER = 0;
        private static final int DISPATCH = 1;
        private static final int ROUTED = 2;
        private static final int SHARED = 3;

        private final long[] nanoseconds = new long[PATHS];
        private long last = System.nanoTime();

        private void read(int path) {
            long now = System.nanoTime();
            nanoseconds[path] += now - last;
            last = now;
        }
    }

    /** The layer in its parts: what {@link MoeLayer#apply(Matrix)} gives. */
    static Matrix run(MoeLayer layer, Matrix tokens, Clock clock) {
        Routing routing = layer.router().routing(tokens, RoutingContext.plain());
        clock.read(Clock.ROUTER);
        DispatchPlan plan = DispatchPlan.of(Admission.of(routing, layer.capacity(), List.of()));
        clock.read(Clock.DISPATCH);
        SharedBranch branch = layer.shared().orElseThrow();
        int[] all = IntStream.range(0, tokens.rows()).toArray();
        try (Unfinished made = new Unfinished()) { // closes the parts of the output
            Matrix rows = made.add(layer.experts().apply(tokens, plan.rows(), plan.groups()));
            clock.read(Clock.ROUTED);
            List<Matrix> shared = new ArrayList<>();
            for (Experts expert : branch.experts()) {
                shared.add(made.add(expert.apply(tokens, all, RowGroups.single(all.length))));
            }
            clock.read(Clock.SHARED);
            Matrix combined = made.add(plan.combine(rows));
            Matrix output = branch.merge().merge(tokens, combined, shared).output();
            clock.read(Clock.DISPATCH);
            return output;
        }
    }

    /**
     * As a table, for the terminal alone.
     *
     * @return a line for each variant
     */
    public Table table() {
        return new Table(
                List.of("time (indicative)", "router", "dispatch", "routed", "shared", "total"),
                1,
                times.stream()
                        .map(of -> List.of(
                                of.variant().text(),
                                rounded(of.router()),
                                rounded(of.dispatch()),
                                rounded(of.routed()),
                                rounded(of.shared()),
                                rounded(of.total())))
                        .toList());
    }

    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
