package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.ExpertSelection.Sinkhorn;

class SinkhornTest {
    /** The iteration as it is published, without any shift: rows of the balanced matrix (T·E). */
    private static double[] balanced(double[] logits, int experts, double tolerance) {
        int tokens = logits.length / experts;
        double[] a = Arrays.stream(logits).map(StrictMath::exp).toArray();
        double[] rows = new double[tokens];
        double[] columns = new double[experts];
        Arrays.fill(columns, 1);
        double error = 1e9;
        while (error > tolerance) {
            for (int t = 0; t < tokens; t++) {
                double sum = 0;
                for (int e = 0; e < experts; e++) {
                    sum += columns[e] * a[t * experts + e];
                }
                rows[t] = 1.0 / tokens / (sum + 1e-8);
            }
            error = 0;
            for (int e = 0; e < experts; e++) {
                double sum = 0;
                for (int t = 0; t < tokens; t++) {
                    sum += rows[t] * a[t * experts + e];
                }
                double next = 1.0 / experts / (sum + 1e-8);
                error += Math.abs(next - columns[e]) / experts;
                columns[e] = next;
            }
        }
        for (int i = 0; i < a.length; i++) {
            a[i] *= rows[i / experts] * columns[i % experts];
        }
        return a;
    }

    private static RouterConfig config(int experts, int topK) {
        RouterConfig plain = RouterConfig.topK(experts, topK).withSelection(new Sinkhorn());
        return topK == 1 ? plain.withScore(new ScoreFunction.Sigmoid()) : plain;
    }

    @ParameterizedTest
    @CsvSource({"1, 4, 2, 200", "2, 3, 1, 200", "40, 8, 2, 150", "97, 16, 4, 40", "30, 5, 5, 20", "16, 1, 1, 5"})
    void choosesTheLargestOfTheBalancedMatrixAndWeighsWithTheScores(int tokens, int experts, int topK, int cases) {
        for (long seed = 1; seed <= cases; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double[] logits = random.doubles((long) tokens * experts, -3, 3).toArray();
            double[] plan = balanced(logits, experts, 1e-4);
            Routing routing = config(experts, topK).routing(logits);
            for (int t = 0; t < tokens; t++) {
                double[] row = Arrays.copyOfRange(plan, t * experts, (t + 1) * experts);
                int[] expected = TokenwiseRouting.best(row, topK);
                double[] own = Arrays.copyOfRange(logits, t * experts, (t + 1) * experts);
                double[] scores = TokenwiseRouting.scores(config(experts, topK).score(), own);
                for (int rank = 0; rank < topK; rank++) {
                    assertThat(routing.expert(t, rank)).as("seed " + seed).isEqualTo(expected[rank]);
                    assertThat(routing.weight(t, rank)).isCloseTo(scores[expected[rank]], within(1e-15));
                }
            }
        }
    }

    /** What is chosen from is a plan whose rows and columns have equal sums, although all tokens prefer the same experts. */
    @Test
    void marginalsAreEvenAndSoIsTheLoadOfOneExpertPerToken() {
        int tokens = 4000;
        int experts = 4;
        double[] preference = {3, 1, 0, -2};
        SplittableRandom random = new SplittableRandom(3);
        double[] logits = new double[tokens * experts];
        for (int i = 0; i < logits.length; i++) {
            logits[i] = preference[i % experts] + 6 * random.nextDouble();
        }
        double[] plan = balanced(logits, experts, 1e-4);
        double[] columns = new double[experts];
        for (int t = 0; t < tokens; t++) {
            double row = 0;
            for (int e = 0; e < experts; e++) {
                row += plan[t * experts + e];
                columns[e] += plan[t * experts + e];
            }
            assertThat(row).isCloseTo(1.0 / tokens, within(1e-3 / tokens));
        }
        for (double column : columns) {
            assertThat(column).isCloseTo(.25, within(1e-4));
        }
        int[] plainCounts = RouterConfig.topK(experts, 1).routing(logits).tokensPerExpert();
        int[] counts = config(experts, 1).routing(logits).tokensPerExpert();
        assertThat(plainCounts[0]).isGreaterThan(tokens / 2);
        // a hard choice from an even plan is not quite even; here it is within a tenth
        assertThat(IntStream.of(counts)).allMatch(count -> Math.abs(count - 1000) <= 100);
    }

    @Test
    void largeLogitsDoNotOverflow() {
        double[] logits = new SplittableRandom(9).doubles(60 * 5, -3, 3).toArray();
        int[] expected = config(5, 2).routing(logits).tokensPerExpert();
        double[] shifted = Arrays.stream(logits).map(l -> l + 2000).toArray(); // e^2000 is infinite
        assertThat(config(5, 2).routing(shifted).tokensPerExpert()).isEqualTo(expected);
        double[] vanishing = Arrays.stream(logits).map(l -> l - 2000).toArray(); // the epsilon is all there is
        assertThat(config(5, 2).routing(vanishing).tokensPerExpert())
                .isEqualTo(RouterConfig.topK(5, 2).routing(logits).tokensPerExpert());
    }

    /** The factor of an expert that everybody wants shrinks in every iteration; it must not become 0. */
    @Test
    void aToleranceThatIsNeverReachedChoosesTheSame() {
        double[] logits = {-1e5, 0, 1e5, -1e5, 0, 1e5};
        for (double tolerance : new double[] {1e-4, Double.MIN_VALUE}) {
            RouterConfig config = RouterConfig.topK(3, 1).withSelection(new Sinkhorn(tolerance, 1000));
            assertThat(config.routing(logits).tokensPerExpert()).containsExactly(0, 0, 2);
        }
    }

    @Test
    void iterationsAreLimited() {
        double[] logits = {9, 0, 0, 8, 0, 0, 7, 1, 0};
        RouterConfig config = RouterConfig.topK(3, 1);
        assertThat(config.withSelection(new Sinkhorn(1e-12, 1)).routing(logits).tokens())
                .isEqualTo(3);
        assertThatThrownBy(() -> new Sinkhorn(0, 1))
                .hasMessage("tolerance: expected a finite number above 0 but was 0.0");
        assertThatThrownBy(() -> new Sinkhorn(1, 0)).hasMessage("maxIterations: expected at least 1 but was 0");
    }

    @Test
    void noTokensAreNoTokens() {
        assertThat(config(4, 2).routing(new double[0]).tokens()).isZero();
    }

    @Test
    void oneTokenAloneAndABiasAreRefused() {
        assertThatThrownBy(() -> new Sinkhorn().select(new double[3], 1))
                .hasMessage("selection: expected one that looks at one token at a time but was"
                        + " Sinkhorn[tolerance=1.0E-4, maxIterations=1000]; RouterConfig.routing takes all tokens");
        assertThatThrownBy(() -> config(4, 2).withSelectionBias(true))
                .hasMessage(
                        "selectionBias: expected false with Sinkhorn[tolerance=1.0E-4, maxIterations=1000] but was true");
    }
}
