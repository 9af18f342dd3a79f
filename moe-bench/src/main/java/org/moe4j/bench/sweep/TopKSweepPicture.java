package org.moe4j.bench.sweep;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;
import org.moe4j.bench.sweep.TopKSweepResult.Row;

/** Time and arithmetic by K, beside the weights that are touched. */
public final class TopKSweepPicture {
    private static final double MEGA = 1e6;
    private static final int TICKS = 4;

    private TopKSweepPicture() {}

    /**
     * The picture of a run.
     *
     * @param result with at least one row
     * @return two panels
     */
    public static LineFigure of(TopKSweepResult result) {
        TopKSweep sweep = result.sweep();
        String own = "K " + sweep.size().topK();
        Axis topKs = new Axis("K, experts for each token (log scale)", powers(result, Row::topK), true);
        return new LineFigure(
                "What do more experts for a token cost?",
                "One layer, no model: D " + sweep.size().hiddenSize() + ", F "
                        + sweep.size().intermediateSize() + ", E "
                        + sweep.size().experts() + ", " + sweep.tokens()
                        + " tokens, " + sweep.kind().text() + ". All K on the same weights, called in turn.",
                List.of(),
                "Times: ratio of medians; the band reaches to the ratio of the shortest calls.",
                List.of(
                        new Panel(
                                "Time and arithmetic beside " + own,
                                topKs,
                                new Axis(
                                        "ratio to " + own + " (log scale)",
                                        powers(result, result::ratio, result::ratioOfMinima, result::arithmetic),
                                        true),
                                List.of(new Reference(1, own)),
                                List.of(
                                        line(result, result::ratio, result::ratioOfMinima),
                                        line(result, result::arithmetic, result::arithmetic)),
                                List.of("time of a call", "arithmetic of the experts")),
                        new Panel(
                                "Weights of experts",
                                topKs,
                                new Axis("MB", megabytes(result), false),
                                List.of(),
                                List.of(
                                        line(
                                                result,
                                                row -> result.touched(row) / MEGA,
                                                row -> result.touched(row) / MEGA),
                                        line(result, row -> result.resident() / MEGA, row -> result.resident() / MEGA)),
                                List.of("touched by these tokens", "resident"))));
    }

    private static List<Point> line(TopKSweepResult result, ToDoubleFunction<Row> y, ToDoubleFunction<Row> other) {
        return result.rows().stream()
                .map(row -> {
                    double one = y.applyAsDouble(row);
                    double two = other.applyAsDouble(row);
                    return new Point(row.topK(), one, Math.min(one, two), Math.max(one, two));
                })
                .toList();
    }

    /** Powers of two around all values. */
    @SafeVarargs
    private static List<Double> powers(TopKSweepResult result, ToDoubleFunction<Row>... values) {
        double low = 1;
        double high = 1;
        for (ToDoubleFunction<Row> value : values) {
            for (Row row : result.rows()) {
                low = Math.min(low, value.applyAsDouble(row));
                high = Math.max(high, value.applyAsDouble(row));
            }
        }
        List<Double> ticks = new ArrayList<>();
        double tick = Math.scalb(1.0, Math.getExponent(low));
        do {
            ticks.add(tick);
            tick *= 2;
        } while (ticks.size() < 2 || ticks.get(ticks.size() - 1) < high);
        return ticks;
    }

    /** From 0 in round steps to all that is resident. */
    private static List<Double> megabytes(TopKSweepResult result) {
        double most = result.resident() / MEGA;
        double magnitude = Math.pow(10, Math.floor(Math.log10(most / TICKS)));
        double step = DoubleStream.of(1, 2, 2.5, 5, 10)
                .map(factor -> factor * magnitude)
                .filter(size -> size * TICKS >= most)
                .findFirst()
                .orElse(most);
        return DoubleStream.iterate(0, tick -> tick < most + step, tick -> tick + step)
                .boxed()
                .toList();
    }
}
