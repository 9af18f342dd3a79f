package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.reference.ReferenceBackend;

class QuantileBiasTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    private static TopKPass pass(RouterConfig config, double[] bias, double[] logits, RoutingContext context) {
        int experts = config.experts();
        double[] unit = new double[experts * experts];
        for (int e = 0; e < experts; e++) {
            unit[e * (experts + 1)] = 1;
        }
        return TopKRouter.of(config, BACKEND.matrix(experts, experts, unit))
                .withSelectionBias(SelectionBias.of(bias))
                .route(BACKEND.matrix(logits.length / experts, experts, logits), context);
    }

    private static double descending(double[] values, int rank) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[values.length - 1 - rank];
    }

    @ParameterizedTest
    @CsvSource({"64, 8, 2, 100", "40, 8, 1, 100", "12, 4, 1, 300", "5, 5, 4, 300", "9, 3, 2, 300", "2, 2, 1, 100"})
    void isTheQuantileOfEachColumnOverTheAdmissionOfEachToken(int tokens, int experts, int topK, int cases) {
        for (long seed = 1; seed <= cases; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double[] logits = random.doubles((long) tokens * experts, -3, 3).toArray();
            double[] bias = random.doubles(experts, -.2, .2).toArray();
            double[][] columns = new double[experts][tokens];
            for (int t = 0; t < tokens; t++) {
                double[] scores = TokenwiseRouting.softmax(Arrays.copyOfRange(logits, t * experts, (t + 1) * experts));
                double[] biased = new double[experts];
                Arrays.setAll(biased, e -> scores[e] + bias[e]);
                double admission = descending(biased, topK);
                for (int e = 0; e < experts; e++) {
                    columns[e][t] = scores[e] - admission;
                }
            }
            double[] actual = pass(RouterConfig.topK(experts, topK), bias, logits, RoutingContext.plain())
                    .quantileBias()
                    .values();
            for (int e = 0; e < experts; e++) {
                assertThat(actual[e])
                        .as("seed " + seed)
                        .isCloseTo(-descending(columns[e], tokens * topK / experts), within(1e-15));
            }
        }
    }

    @Test
    void stepsBringLoadsTogether() {
        int experts = 8;
        double[] logits = new SplittableRandom(2).doubles(512 * 8, -2, 2).toArray();
        for (int i = 0; i < logits.length; i += experts) {
            logits[i] += 2;
            logits[i + 1] += 1;
        }
        RouterConfig config = RouterConfig.topK(experts, 2);
        SelectionBias bias = SelectionBias.zeros(experts);
        int[] before = pass(config, bias.values(), logits, RoutingContext.plain())
                .routing()
                .tokensPerExpert();
        for (int step = 0; step < 20; step++) {
            TopKPass pass = pass(config, bias.values(), logits, RoutingContext.plain());
            bias = bias.updatedByQuantiles(List.of(pass.quantileBias()), 0);
            assertThat(Arrays.stream(bias.values()).sum()).isCloseTo(0, within(1e-14));
        }
        int[] after = pass(config, bias.values(), logits, RoutingContext.plain())
                .routing()
                .tokensPerExpert();
        assertThat(before[0]).isGreaterThan(350);
        assertThat(IntStream.of(after)).allMatch(count -> Math.abs(count - 128) <= 10); // 128 is even
    }

    @Test
    void batchesAreAveragedBlendedAndCentred() {
        SelectionBias bias = SelectionBias.of(new double[] {1, 2, 6});
        SelectionBias next = bias.updatedByQuantiles(
                List.of(SelectionBias.of(new double[] {0, 4, 2}), SelectionBias.of(new double[] {2, 0, 4})), .25);
        // .25·(1, 2, 6) + .75·(1, 2, 3) = (1, 2, 3.75), whose mean is 2.25
        assertThat(next.values()).containsExactly(-1.25, -.25, 1.5);
        assertThatThrownBy(() -> bias.updatedByQuantiles(List.of(), 0))
                .hasMessage("batches.size: expected at least 1 but was 0");
        assertThatThrownBy(() -> bias.updatedByQuantiles(List.of(bias), 1))
                .hasMessage("memory: expected a number of at least 0 and less than 1 but was 1.0");
        assertThatThrownBy(() -> bias.updatedByQuantiles(List.of(SelectionBias.zeros(2)), 0))
                .hasMessage("batches: expected 3 values (experts) but was 2");
    }

    @Test
    void whatTheRuleDoesNotCoverIsRefused() {
        double[] zeros = new double[4];
        double[] logits = new double[8];
        RoutingContext plain = RoutingContext.plain();
        RouterConfig config = RouterConfig.topK(4, 2);
        RoutingContext masked = new RoutingContext(
                Optional.of(RowMask.of(new boolean[] {true, false})), List.of(), OptionalLong.empty());
        assertThatThrownBy(() -> pass(config, zeros, logits, masked).quantileBias())
                .hasMessage("context.valid: expected none with quantile balancing but was a mask");
        assertThatThrownBy(() -> pass(config.withTopK(1), zeros, logits, plain).quantileBias())
                .hasMessage("tokens: expected tokens x topK that the 4 experts divide but was 2 x 1");
        assertThatThrownBy(() -> pass(config.withTopK(4), zeros, logits, plain).quantileBias())
                .hasMessage("topK: expected 1..3 (below the experts with quantile balancing) but was 4");
        assertThatThrownBy(() -> pass(config, zeros, new double[0], plain).quantileBias())
                .hasMessage("tokens: expected at least 1 but was 0");
        assertThatThrownBy(() -> TopKRouterTest.routeLogits(config, logits).quantileBias())
                .hasMessage("selectionBias: expected a SelectionBias (config.selectionBias) but was absent");
        RouterConfig groups = config.withSelection(new ExpertSelection.GroupLimited(2, 1, new GroupScore.Max()));
        assertThatThrownBy(() -> pass(groups, zeros, logits, plain).quantileBias())
                .hasMessageStartingWith("selection: expected PlainTopK[] with quantile balancing but was GroupLimited");
    }
}
