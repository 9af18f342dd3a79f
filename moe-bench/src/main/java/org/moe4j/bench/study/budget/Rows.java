package org.moe4j.bench.study.budget;

import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;

/**
 * Rows that the experts accepted.
 *
 * @param tokens T
 * @param perExpert of each routed expert
 * @param shared of the shared expert; 0 without one
 */
public record Rows(int tokens, List<Integer> perExpert, int shared) {
    /**
     * Copies the list.
     *
     * @param tokens T
     * @param perExpert of each routed expert
     * @param shared of the shared expert; 0 without one
     */
    public Rows {
        perExpert = List.copyOf(perExpert);
    }

    /** Of a pass through a layer, as its capacity admits them. */
    static Rows of(MoeLayer layer, MoePass pass) {
        RowGroups groups = DispatchPlan.of(pass.routing(), layer.capacity()).groups();
        return new Rows(
                pass.routing().tokens(),
                IntStream.range(0, groups.count()).mapToObj(groups::size).toList(),
                pass.sharedOutputs().stream().mapToInt(Matrix::rows).sum());
    }

    /**
     * Of all routed experts.
     *
     * @return T·K where none was dropped
     */
    public long routed() {
        return perExpert.stream().mapToLong(Integer::longValue).sum();
    }

    /**
     * Of the expert with the fewest.
     *
     * @return at least 0
     */
    public int least() {
        return perExpert.stream().mapToInt(Integer::intValue).min().orElseThrow();
    }

    /**
     * Of the expert with the most.
     *
     * @return at most T
     */
    public int most() {
        return perExpert.stream().mapToInt(Integer::intValue).max().orElseThrow();
    }

    /**
     * Of the expert in the middle, or between the two there.
     *
     * @return between least and most
     */
    public double median() {
        int[] sorted = perExpert.stream().mapToInt(Integer::intValue).sorted().toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2.0;
    }
}
