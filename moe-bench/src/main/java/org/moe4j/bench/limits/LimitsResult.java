package org.moe4j.bench.limits;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;
import org.moe4j.core.nd4j.Nd4jBackend;

/**
 * What was measured.
 *
 * @param machine words about it
 * @param read bytes per second
 * @param gemms how fast backends multiply large matrices
 * @param layers how fast a layer runs
 */
public record LimitsResult(Machine machine, double read, List<Gemm> gemms, List<LayerTime> layers) {
    /**
     * Copies the lists.
     *
     * @param machine words about it
     * @param read bytes per second
     * @param gemms how fast backends multiply large matrices
     * @param layers how fast a layer runs
     */
    public LimitsResult {
        gemms = List.copyOf(gemms);
        layers = List.copyOf(layers);
    }

    /**
     * Where it was measured.
     *
     * @param date of the day
     * @param processor as the operating system calls it
     * @param threads processors that the JVM may use
     * @param jvm its version
     * @param blas the library behind ND4J
     */
    public record Machine(String date, String processor, int threads, String jvm, String blas) {
        /**
         * This machine, today.
         *
         * @return words about it
         * @throws IOException when the description of its processor cannot be read
         */
        public static Machine here() throws IOException {
            return new Machine(
                    LocalDate.now(ZoneOffset.UTC).toString(),
                    processorName(),
                    Runtime.getRuntime().availableProcessors(),
                    "JDK " + Runtime.version(),
                    Nd4jBackend.blasReport());
        }

        private static String processorName() throws IOException {
            Path file = Path.of("/proc/cpuinfo");
            if (!Files.isReadable(file)) {
                return System.getProperty("os.arch");
            }
            try (Stream<String> lines = Files.lines(file)) {
                return lines.filter(line -> line.startsWith("model name"))
                        .map(line -> line.substring(line.indexOf(':') + 1).strip())
                        .findFirst()
                        .orElse(System.getProperty("os.arch"));
            }
        }
    }

    /**
     * Large products of one backend.
     *
     * @param kind backend
     * @param flops floating-point operations per second
     */
    public record Gemm(LayerKind kind, double flops) {}

    /**
     * One call of the layer.
     *
     * @param kind backend and weights
     * @param tokens T
     * @param experts how many have a token
     * @param best seconds of the fastest call
     * @param median seconds
     * @param bytes that have to be read: the weights of experts that have a token, the router and the tokens
     * @param flop floating-point operations of all products
     */
    public record LayerTime(
            LayerKind kind, int tokens, int experts, double best, double median, double bytes, double flop) {
        /** Bytes per second of the fastest call. */
        double bandwidth() {
            return bytes / best;
        }

        /** Floating-point operations per second of the fastest call. */
        double speed() {
            return flop / best;
        }
    }

    /**
     * The fastest large product.
     *
     * @return floating-point operations per second
     */
    public double peak() {
        return gemms.stream().mapToDouble(Gemm::flops).max().orElse(0);
    }

    /**
     * Whether memory, and not arithmetic, gives the limit.
     *
     * @param layer of this result
     * @return false where computing takes longer than reading
     */
    public boolean boundByReading(LayerTime layer) {
        return layer.bytes() / read > layer.flop() / peak();
    }

    /**
     * The time in which the machine can do it at best: the longer of reading and computing.
     *
     * @param layer of this result
     * @return seconds
     */
    public double limit(LayerTime layer) {
        return Math.max(layer.bytes() / read, layer.flop() / peak());
    }

    /**
     * The limit as a part of the fastest call.
     *
     * @param layer of this result
     * @return 1 at the limit
     */
    public double share(LayerTime layer) {
        return limit(layer) / layer.best();
    }
}
