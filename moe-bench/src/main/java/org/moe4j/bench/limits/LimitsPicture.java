package org.moe4j.bench.limits;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import org.moe4j.bench.limits.LimitsResult.LayerTime;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;

/** The roofline: what the machine can do for each number of operations per byte, and what the layer reaches. */
public final class LimitsPicture {
    private static final List<Double> INTENSITIES = List.of(0.1, 1.0, 10.0, 100.0, 1000.0);
    private static final List<Double> SPEEDS = List.of(1.0, 10.0, 100.0, 1000.0, 10000.0);
    private static final double[] SHARES = {0, 0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6};

    private LimitsPicture() {}

    /**
     * The picture of a result.
     *
     * @param result of the measurement
     * @return two panels
     */
    public static LineFigure of(LimitsResult result) {
        List<String> series = new ArrayList<>(); // backends first, in the colours that they have beside peers
        List<List<Point>> roofline = new ArrayList<>();
        List<List<Point>> shares = new ArrayList<>();
        for (LayerKind kind : LayerKind.values()) {
            series.add(kind.text());
            roofline.add(line(result, kind, LimitsPicture::speed));
            shares.add(line(result, kind, layer -> share(result, layer)));
        }
        series.add("limit of the machine");
        roofline.add(roof(result));
        shares.add(even(1));
        Axis tokens = new Axis(
                "tokens of a call (log scale)",
                LimitsMeasurement.TOKENS.stream().map(Integer::doubleValue).toList(),
                true);
        return new LineFigure(
                "How near does a layer come to the limits of the machine?",
                "One call of a layer of olmoe-1b-7b, D 2048, F 1024, E 64, K 8. " + LimitsPage.limits(result) + ".",
                series,
                "Lines: fastest call. Bands reach down to the median.",
                List.of(
                        new Panel(
                                "Speed by operations per byte",
                                new Axis(
                                        "operations for each byte that has to be read (FLOP/B, log scale)",
                                        INTENSITIES,
                                        true),
                                new Axis("GFLOP/s (log scale)", speeds(result), true),
                                List.of(),
                                roofline),
                        new Panel(
                                "Share of the limit by tokens",
                                tokens,
                                new Axis("time at the limit over time of a call", shareTicks(result), false),
                                List.of(),
                                shares)));
    }

    /** Reading is the limit up to the ridge, computing beyond. */
    private static List<Point> roof(LimitsResult result) {
        double ridge = result.peak() / result.read();
        return DoubleStream.concat(DoubleStream.of(ridge), INTENSITIES.stream().mapToDouble(Double::doubleValue))
                .sorted()
                .mapToObj(x -> point(x, Math.min(x * result.read(), result.peak()) / LimitsPage.GIGA))
                .toList();
    }

    private static List<Point> even(double height) {
        return LimitsMeasurement.TOKENS.stream()
                .map(tokens -> point(tokens, height))
                .toList();
    }

    private static Point point(double x, double y) {
        return new Point(x, y, y, y);
    }

    private static List<Point> line(LimitsResult result, LayerKind kind, Function<LayerTime, Point> point) {
        return result.layers().stream()
                .filter(layer -> layer.kind() == kind)
                .map(point)
                .toList();
    }

    private static Point speed(LayerTime layer) {
        double median = layer.flop() / layer.median() / LimitsPage.GIGA;
        double best = layer.speed() / LimitsPage.GIGA;
        return new Point(layer.flop() / layer.bytes(), best, median, best);
    }

    private static Point share(LimitsResult result, LayerTime layer) {
        double best = result.share(layer);
        return new Point(layer.tokens(), best, result.limit(layer) / layer.median(), best);
    }

    /** As far up as the peak needs, and as far down as the roof and the slowest call. */
    private static List<Double> speeds(LimitsResult result) {
        double top = result.peak() / LimitsPage.GIGA;
        int last = 0;
        while (last + 1 < SPEEDS.size() && SPEEDS.get(last) < top) {
            last++;
        }
        return SPEEDS.subList(0, Math.max(2, last + 1));
    }

    private static List<Double> shareTicks(LimitsResult result) {
        double top = result.layers().stream().mapToDouble(result::share).max().orElse(1);
        return Arrays.stream(SHARES)
                .filter(tick -> tick <= Math.max(1.2, top + 0.2))
                .boxed()
                .toList();
    }
}
