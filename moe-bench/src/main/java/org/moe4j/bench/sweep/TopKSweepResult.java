package org.moe4j.bench.sweep;

import java.util.List;
import org.moe4j.bench.limits.LimitsResult.Machine;
import org.moe4j.bench.timing.Times;

/**
 * What was measured.
 *
 * @param sweep what was asked
 * @param machine words about it
 * @param rows one for each K, ascending
 */
public record TopKSweepResult(TopKSweep sweep, Machine machine, List<Row> rows) {
    private static final long PROJECTIONS = 3;

    /**
     * Copies the list.
     *
     * @param sweep what was asked
     * @param machine words about it
     * @param rows one for each K, ascending
     */
    public TopKSweepResult {
        rows = List.copyOf(rows);
    }

    /**
     * One K.
     *
     * @param topK K
     * @param times of a call
     * @param experts that have a token
     */
    public record Row(int topK, Times times, int experts) {}

    private Row reference() {
        return rows.stream()
                .filter(row -> row.topK() == sweep.size().topK())
                .findFirst()
                .orElseThrow();
    }

    /**
     * Time beside that of the layer's own K.
     *
     * @param row of this result
     * @return ratio of medians
     */
    public double ratio(Row row) {
        return row.times().median() / reference().times().median();
    }

    /**
     * The same of the shortest calls.
     *
     * @param row of this result
     * @return ratio of minima
     */
    public double ratioOfMinima(Row row) {
        return row.times().minimum() / reference().times().minimum();
    }

    /**
     * Arithmetic of the experts beside that of the layer's own K: the quotient of both K.
     *
     * @param row of this result
     * @return exact
     */
    public double arithmetic(Row row) {
        return (double) row.topK() / sweep.size().topK();
    }

    private long bytes(int experts) {
        return experts
                * PROJECTIONS
                * sweep.size().hiddenSize()
                * sweep.size().intermediateSize()
                * sweep.kind().bytesPerWeight();
    }

    /**
     * Weights of the experts that have a token.
     *
     * @param row of this result
     * @return bytes
     */
    public long touched(Row row) {
        return bytes(row.experts());
    }

    /**
     * Weights of all experts, which have to be there whatever K is.
     *
     * @return bytes
     */
    public long resident() {
        return bytes(sweep.size().experts());
    }
}
