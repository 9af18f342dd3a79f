package org.moe4j.core.dispatch;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.internal.Require;

/**
 * Which assignments of a routing the experts take, and with which weights: decided once, over all tokens, so that work in
 * parts gives what work at once gives.
 */
public final class Admission {
    private final Routing routing;
    private final boolean[] kept; // one per slot
    private final double[] weights; // one per slot: what multiplies the expert's output, 0 where dropped
    private final KeptWeights keptWeights;
    private final UnservedTokens unserved;
    private final int dropped;

    private Admission(Routing routing, boolean[] kept, KeptWeights keptWeights, UnservedTokens unserved) {
        this.routing = routing;
        this.kept = kept;
        this.keptWeights = keptWeights;
        this.unserved = unserved;
        weights = new double[kept.length];
        int lost = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            double sum = keptSum(t);
            double divisor = isDivided(sum) ? sum : 1;
            for (int rank = 0; rank < routing.count(t); rank++) {
                int slot = routing.slot(t, rank);
                weights[slot] = kept[slot] ? routing.weight(t, rank) / divisor : 0;
                lost += kept[slot] ? 0 : 1;
            }
        }
        dropped = lost;
    }

    /**
     * Decides for a call.
     *
     * @param routing where tokens want to go
     * @param capacity what an expert may take
     * @param sequenceLengths lengths of consecutive sequences that add up to T; empty for one sequence
     * @return the decision
     * @throws IllegalArgumentException for lengths that are not those of the tokens, or where the limit refuses 0 rows
     */
    public static Admission of(Routing routing, Capacity capacity, List<Integer> sequenceLengths) {
        boolean[] kept = new boolean[routing.slots()];
        if (!(capacity instanceof Limited limited)) {
            Arrays.fill(kept, true);
            return new Admission(routing, kept, KeptWeights.UNCHANGED, UnservedTokens.ZERO);
        }
        int[] bounds = limited.scope().bounds(routing.tokens(), sequenceLengths);
        GroupAdmission group = new GroupAdmission(routing, limited.order(), kept);
        for (int g = 0; g + 1 < bounds.length; g++) {
            int slots = routing.slotsBefore(bounds[g + 1]) - routing.slotsBefore(bounds[g]);
            int rows = limited.rowsPerExpert(bounds[g + 1] - bounds[g], slots, routing.experts());
            group.admit(bounds[g], bounds[g + 1], rows);
        }
        return new Admission(routing, kept, limited.keptWeights(), limited.unserved());
    }

    private double keptSum(int token) {
        double sum = 0;
        for (int rank = 0; rank < routing.count(token); rank++) {
            sum += isDropped(token, rank) ? 0 : routing.weight(token, rank);
        }
        return sum;
    }

    private boolean isDivided(double sum) {
        return keptWeights == KeptWeights.UNIT_SUM && Math.abs(sum) >= KeptWeights.SMALLEST_SUM;
    }

    /**
     * What was asked for.
     *
     * @return the routing, before capacity
     */
    public Routing routing() {
        return routing;
    }

    /**
     * Assignments that no expert took.
     *
     * @return at least 0
     */
    public int dropped() {
        return dropped;
    }

    /**
     * Whether an assignment was dropped.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; {@code count(token)}
     * @return true when no expert took it
     */
    public boolean isDropped(int token, int rank) {
        return !kept[routing.slot(token, rank)];
    }

    /**
     * What really multiplies the output of an expert.
     *
     * @param token 0 ≤ token &lt; T
     * @param rank 0 ≤ rank &lt; {@code count(token)}
     * @return the weight of {@link KeptWeights}; 0 where dropped
     */
    public double weight(int token, int rank) {
        return weights[routing.slot(token, rank)];
    }

    /**
     * What multiplies the token itself in the routed output.
     *
     * @param token 0 ≤ token &lt; T
     * @return 0 unless no expert took it and {@link UnservedTokens} pass through
     */
    public double passed(int token) {
        Objects.checkIndex(token, routing.tokens());
        if (!mayPass() || isServed(token)) {
            return 0;
        }
        double sum = 0;
        for (int rank = 0; rank < routing.count(token); rank++) {
            sum += routing.weight(token, rank);
        }
        return unserved == UnservedTokens.PASSED ? 1 : sum;
    }

    /** Whether there may be tokens that pass. */
    boolean mayPass() {
        return unserved != UnservedTokens.ZERO;
    }

    private boolean isServed(int token) {
        for (int rank = 0; rank < routing.count(token); rank++) {
            if (!isDropped(token, rank)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Gradients of the routing's weights, given those of {@link #weight}.
     *
     * @param dWeights one per slot; what stands where a slot was dropped is not read
     * @return one per slot, 0 where dropped
     * @throws IllegalArgumentException for {@code dWeights} with another number of numbers
     */
    public double[] backward(double[] dWeights) {
        Require.count("dWeights", dWeights.length, kept.length, "numbers (one per slot)");
        double[] gradients = new double[kept.length];
        for (int t = 0; t < routing.tokens(); t++) {
            double sum = keptSum(t);
            double mean = isDivided(sum) ? mean(t, dWeights) : 0;
            double divisor = isDivided(sum) ? sum : 1;
            for (int rank = 0; rank < routing.count(t); rank++) {
                int slot = routing.slot(t, rank);
                gradients[slot] = kept[slot] ? (dWeights[slot] - mean) / divisor : 0;
            }
        }
        return gradients;
    }

    /** Adds the gradients that the weights have from {@code Σ passed_t · dots_t}. */
    void addPassed(double[] dWeights, double[] dots) {
        for (int t = 0; t < dots.length; t++) {
            for (int rank = 0; !isServed(t) && rank < routing.count(t); rank++) {
                dWeights[routing.slot(t, rank)] += dots[t];
            }
        }
    }

    /** Whether the weights of unserved tokens have gradients. */
    boolean passesWeighted() {
        return unserved == UnservedTokens.PASSED_WEIGHTED;
    }

    private double mean(int token, double[] dWeights) {
        double mean = 0;
        for (int rank = 0; rank < routing.count(token); rank++) {
            int slot = routing.slot(token, rank);
            mean += kept[slot] ? weights[slot] * dWeights[slot] : 0;
        }
        return mean;
    }
}
