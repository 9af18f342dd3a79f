package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.testing.definition.DoubleDouble;
import org.moe4j.core.testing.definition.ExactActivations;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.SecondExpert;

/**
 * Numbers drawn from seeds against a definition of their own: the stream is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), written here
 * from its published constants; a uniform number is the midpoint of one of 2⁵² cells; a normal one is where Φ, with twice the digits, is
 * that number.
 */
class SeededNumbersTest {
    private static final String HASH = "4d434d4c22dd0ddb8ebfab4fe952745602f0ceb6f8428268f0a24ed39be45438";
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final long[] SEEDS = {0, 1, -1, 1_234_567, Long.MIN_VALUE};

    private static long mixed(long z) {
        long y = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        y = (y ^ (y >>> 27)) * 0x94D049BB133111EBL;
        return y ^ (y >>> 31);
    }

    /** Number {@code index} of the stream of a row. */
    private static double uniform(long seed, int row, int index) {
        long start = mixed((seed ^ (row * GOLDEN)) + GOLDEN);
        return ((mixed(start + (index + 1) * GOLDEN) >>> 12) + 0.5) * 0x1p-52;
    }

    /** Five numbers that are published with several implementations of SplitMix64. */
    @Test
    void theDefinitionIsSplitMix64() {
        String[] published = {
            "6457827717110365317",
            "3203168211198807973",
            "9817491932198370423",
            "4593380528125082431",
            "16408922859458223821"
        };
        for (int i = 0; i < published.length; i++) {
            assertThat(Long.toUnsignedString(mixed(1_234_567 + (i + 1) * GOLDEN)))
                    .isEqualTo(published[i]);
        }
    }

    @Test
    void jittersAreTheDefinitionBitForBit() {
        for (long seed : SEEDS) {
            double[] factors = SeededNumbers.jitter(0.25, seed);
            for (int i = 0; i < factors.length; i++) {
                double u = uniform(seed, i / SeededNumbers.COLUMNS, i % SeededNumbers.COLUMNS);
                assertThat(factors[i]).isEqualTo(1 + 0.25 * (2 * u - 1));
            }
        }
    }

    /** The noise of a router has a seed of its own for each purpose, made from the run's: 1 is jitter, 2 are logits, 3 second experts. */
    private static long ofPurpose(long seed, int purpose) {
        return mixed((seed ^ (purpose * 0xBF58476D1CE4E5B9L)) + GOLDEN);
    }

    @Test
    void noisesOfARouterAreTheDefinition() {
        for (long seed : SEEDS) {
            double[] jitter = SeededNumbers.noise(new RouterNoise.InputJitter(0.25), seed);
            double[] normal = SeededNumbers.noise(new RouterNoise.FixedNormal(SeededNumbers.COLUMNS), seed);
            for (int i = 0; i < normal.length; i++) {
                int token = i / SeededNumbers.COLUMNS;
                int expert = i % SeededNumbers.COLUMNS;
                double factor = 1 + 0.25 * (2 * uniform(ofPurpose(seed, 1), token, 0) - 1);
                assertThat(jitter[i]).isEqualTo(factor);
                assertThat(off(normal[i], uniform(ofPurpose(seed, 2), token, expert)))
                        .isLessThanOrEqualTo(8);
            }
        }
    }

    /** Second experts are kept by one uniform number of each token, compared with their weight over the threshold. */
    @Test
    void keptSecondExpertsAreTheDefinition() {
        for (long seed : SEEDS) {
            for (double threshold : new double[] {0.06, 0.1, 0.25}) {
                Routing routing = SeededNumbers.seconds(new SecondExpert.Random(threshold), seed);
                for (int token = 0; token < SeededNumbers.ROWS; token++) {
                    double weight = 1.0 / SeededNumbers.COLUMNS; // of equal logits
                    boolean kept = uniform(ofPurpose(seed, 3), token, 0) < weight / threshold;
                    assertThat(routing.count(token)).as("token %d", token).isEqualTo(kept ? 2 : 1);
                }
            }
        }
    }

    /** With equal logits the second expert has the largest Gumbel number {@code −ln(−ln u)}, hence the largest u: one for each expert, the first too. */
    @Test
    void sampledSecondExpertsAreTheDefinition() {
        for (long seed : SEEDS) {
            Routing routing = SeededNumbers.seconds(new SecondExpert.Sampled(), seed);
            for (int t = 0; t < SeededNumbers.ROWS; t++) {
                int token = t;
                int second = IntStream.range(1, SeededNumbers.COLUMNS)
                        .boxed()
                        .max(Comparator.comparingDouble(e -> uniform(ofPurpose(seed, 3), token, e)))
                        .orElseThrow();
                assertThat(routing.expert(token, 0)).isZero(); // the lowest of equal ones
                assertThat(routing.expert(token, 1)).as("token %d", token).isEqualTo(second);
            }
        }
    }

    /** How far x is from Φ⁻¹(u), in units in its last place, by one step of Newton's method. */
    private static double off(double x, double u) {
        DoubleDouble at = DoubleDouble.of(x);
        double distance = ExactActivations.cdf(at).minus(DoubleDouble.of(u)).high()
                / ExactActivations.density(at).high();
        return Math.abs(distance) / Math.ulp(x);
    }

    @Test
    void weightsAreQuantilesOfTheDefinition() {
        double worst = 0;
        for (long seed : SEEDS) {
            double[] weights = SeededNumbers.weights(Initializer.normal(1), seed);
            for (int i = 0; i < weights.length; i++) {
                double u = uniform(seed, i / SeededNumbers.COLUMNS, i % SeededNumbers.COLUMNS);
                worst = Math.max(worst, off(weights[i], u));
            }
        }
        assertThat(worst).isLessThanOrEqualTo(8);
        Promise.measured(
                15,
                "weights and noise from seeds",
                String.format(
                        Locale.ROOT,
                        "uniform numbers bit for bit, normal ones within %.1f ulp of the exact quantile; %,d numbers",
                        worst,
                        SEEDS.length * SeededNumbers.ROWS * SeededNumbers.COLUMNS));
    }

    @Test
    void theBitsAreThoseOfEveryMachine() {
        assertThat(SeededNumbers.hash()).isEqualTo(HASH);
    }

    @Test
    void anotherJdkDrawsTheSameNumbers() throws IOException, InterruptedException {
        String printed =
                ChildJvm.run(Duration.ofMinutes(2), ChildJvm.otherJava(), List.of(), Map.of(), SeededNumbers.class);
        assertThat(printed).contains("numbers " + HASH);
        Promise.measured(15, "another JDK", "one hash of all draws");
    }
}
