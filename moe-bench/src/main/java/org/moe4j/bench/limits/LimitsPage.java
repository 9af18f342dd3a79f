package org.moe4j.bench.limits;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.moe4j.bench.limits.LimitsResult.LayerTime;
import org.moe4j.bench.limits.LimitsResult.Machine;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The result as tables and text. */
public final class LimitsPage {
    static final double GIGA = 1e9;

    private static final double MEGA = 1e6;
    private static final double MILLI = 1e-3;

    private static final String HOW = """
            The limit is the longer of two times: what has to be read (the weights of the experts that have a token, router and \
            tokens) at the machine's read bandwidth, and the operations of the products (a multiply-add is two) at the speed of the \
            fastest large product. Both were measured in the same run: before and after the calls of each backend, of which the best \
            counts. The share is the limit divided by the fastest call; it can exceed 100 %, as a limit is itself a measurement, \
            and weights may stay in a cache.""";

    private LimitsPage() {}

    /**
     * What is printed.
     *
     * @param result of the measurement
     * @return a row for each backend and number of tokens
     */
    public static Table table(LimitsResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (LayerTime layer : result.layers()) {
            rows.add(List.of(
                    layer.kind().text(),
                    Integer.toString(layer.tokens()),
                    format("%.2f", layer.best() / MILLI),
                    format("%.2f", layer.median() / MILLI),
                    format("%.0f", layer.bytes() / MEGA),
                    format("%.2f", layer.flop() / GIGA),
                    format("%.1f", layer.bandwidth() / GIGA),
                    format("%.0f", layer.speed() / GIGA),
                    format("%.2f", result.limit(layer) / MILLI),
                    result.boundByReading(layer) ? "reading" : "computing",
                    format("%.0f %%", 100 * result.share(layer))));
        }
        return new Table(
                List.of(
                        "backend",
                        "tokens",
                        "best ms",
                        "median ms",
                        "MB read",
                        "GFLOP",
                        "GB/s",
                        "GFLOP/s",
                        "limit ms",
                        "by",
                        "share of the limit"),
                1,
                rows);
    }

    /**
     * All numbers.
     *
     * @param result of the measurement
     * @return seconds, bytes and operations, not rounded
     */
    public static Table csv(LimitsResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (LayerTime layer : result.layers()) {
            rows.add(List.of(
                    layer.kind().text(),
                    Integer.toString(layer.tokens()),
                    Integer.toString(layer.experts()),
                    Decimal.of(layer.best()),
                    Decimal.of(layer.median()),
                    Decimal.of(layer.bytes()),
                    Decimal.of(layer.flop()),
                    Decimal.of(result.limit(layer)),
                    Decimal.of(result.share(layer)),
                    Decimal.of(result.read()),
                    Decimal.of(result.peak())));
        }
        return new Table(
                List.of(
                        "backend",
                        "tokens",
                        "experts",
                        "best_s",
                        "median_s",
                        "bytes",
                        "flop",
                        "limit_s",
                        "share",
                        "read_bytes_per_s",
                        "peak_flop_per_s"),
                1,
                rows);
    }

    /**
     * The limits in one line.
     *
     * @param result of the measurement
     * @return bandwidth and products
     */
    public static String limits(LimitsResult result) {
        return format("Reading %.1f GB/s", result.read() / GIGA)
                + result.gemms().stream()
                        .map(gemm -> format("%s %.0f GFLOP/s", gemm.kind().text(), gemm.flops() / GIGA))
                        .collect(Collectors.joining(", ", "; products of " + GemmPeak.SIZE + "³: ", ""));
    }

    /**
     * Where it was measured, in one line.
     *
     * @param machine words about it
     * @return date, processor, JVM, OpenBLAS
     */
    public static String where(Machine machine) {
        return String.join(
                " · ",
                machine.date(),
                machine.processor(),
                machine.threads() + " threads",
                machine.jvm(),
                machine.blas());
    }

    /**
     * The file in Markdown.
     *
     * @param result of the measurement
     * @param picture name of the drawing beside it
     * @return the page
     */
    public static String markdown(LimitsResult result, String picture) {
        return "# How near to the limits of the machine?\n\nOne call of `applyInto` of a random layer of `olmoe-1b-7b` (D 2048,"
                + " F 1024, E 64, K 8) in single precision.\n\n" + where(result.machine()) + "\n\n"
                + limits(result) + ".\n\n![Speed by operations per byte, and share of the limit by tokens](" + picture
                + ")\n\n"
                + table(result).markdown() + "\n" + HOW + "\n";
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
