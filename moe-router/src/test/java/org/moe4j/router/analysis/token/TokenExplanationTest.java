package org.moe4j.router.analysis.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.analysis.LogitSource;

class TokenExplanationTest {
    private static final int EXPERTS = 64;
    private static final int TOP_K = 8;
    private static final RouterConfig OLMOE = RouterConfig.topK(EXPERTS, TOP_K);

    /** ' harbour' at layer 0 of OLMoE-1B-7B (LLM Architecture Refresh 5, §3), logits and weights as printed there. */
    private static final int[] HARBOUR = {5, 14, 41, 18, 6, 17, 28, 9};

    private static final double[] LOGITS = {1.8984, 1.6016, 1.3516, 1.2344, 0.7148, 0.3340, 0.1201, 0.1143};
    private static final double[] WEIGHTS = {0.1161, 0.0862, 0.0672, 0.0597, 0.0355, 0.0243, 0.0196, 0.0195};
    private static final double KEPT = 0.4281;

    /** The other 56 logits are not printed: here they are equal, and leave the kept mass that is. */
    private static double[] harbour() {
        double powers = Arrays.stream(LOGITS).map(Math::exp).sum();
        double others = powers / KEPT * (1 - KEPT);
        double[] logits = new double[EXPERTS];
        Arrays.fill(logits, Math.log(others / (EXPERTS - TOP_K)));
        for (int rank = 0; rank < TOP_K; rank++) {
            logits[HARBOUR[rank]] = LOGITS[rank];
        }
        return logits;
    }

    @Test
    void harbourIsExplainedAsPrinted() {
        assertThat(Arrays.stream(WEIGHTS).sum()).isCloseTo(KEPT, within(1e-12));
        TokenExplanation token = TokenExplanation.of(OLMOE, harbour());
        assertThat(token.chosen())
                .extracting(TokenExplanation.Chosen::expert)
                .containsExactly(5, 14, 41, 18, 6, 17, 28, 9);
        for (int rank = 0; rank < TOP_K; rank++) {
            TokenExplanation.Chosen chosen = token.chosen().get(rank);
            assertThat(chosen.logit()).isEqualTo(LOGITS[rank]);
            assertThat(chosen.weight())
                    .isCloseTo(WEIGHTS[rank], within(1e-4)); // theirs are rounded to bfloat16 on the way
            assertThat(chosen.score()).isEqualTo(chosen.weight());
        }
        assertThat(token.kept()).isCloseTo(0.4281, within(1e-12));
        assertThat(token.weightSum()).isEqualTo(token.kept());
        assertThat(token.discarded()).isCloseTo(0.5719, within(1e-12));
        assertThat(token.scores().stream().mapToDouble(Double::doubleValue).sum())
                .isCloseTo(1, within(1e-12));
        assertThat(token.topShare()).isCloseTo(0.27, within(0.005));
        assertThat(token.top()).contains(token.chosen().get(0));
    }

    /** Renormalised, the layer's output would be 1/0.4281 of what it is. */
    @Test
    void renormalisedWeightsKeepTheirShares() {
        RouterConfig renormalised =
                OLMOE.withRenormalization(new Renormalization.Sum()).withScale(2);
        TokenExplanation token = TokenExplanation.of(renormalised, harbour());
        assertThat(token.weightSum()).isCloseTo(2, within(1e-12));
        assertThat(token.kept()).isCloseTo(KEPT, within(1e-12));
        assertThat(token.topShare())
                .isCloseTo(TokenExplanation.of(OLMOE, harbour()).topShare(), within(1e-12));
        assertThat(token.chosen().get(3).weight())
                .isCloseTo(2 * token.chosen().get(3).score() / KEPT, within(1e-12));
    }

    /** The depth profile of the same token (§3): weight and kept total of each layer give the printed share. */
    @ParameterizedTest
    @CsvSource({
        "5, 0.1161, 0.4281, 0.27",
        "53, 0.0583, 0.2540, 0.23",
        "36, 0.0866, 0.3215, 0.27",
        "0, 0.0697, 0.3567, 0.20",
        "35, 0.0761, 0.3316, 0.23",
        "23, 0.0639, 0.3003, 0.21",
        "17, 0.0647, 0.3298, 0.20",
        "43, 0.0443, 0.3162, 0.14",
        "6, 0.0636, 0.3282, 0.19",
        "41, 0.0540, 0.3338, 0.16",
        "23, 0.1208, 0.4334, 0.28",
        "55, 0.0755, 0.3685, 0.20",
        "48, 0.0764, 0.4592, 0.17",
        "0, 0.0733, 0.4784, 0.15",
        "46, 0.0982, 0.4830, 0.20",
        "23, 0.1158, 0.4851, 0.24"
    })
    void theDepthProfileHasThePrintedShares(int top, double weight, double kept, double share) {
        double[] logits = new double[EXPERTS];
        for (int e = 0; e < EXPERTS; e++) {
            boolean isAmongTheRest = (e - top + EXPERTS) % EXPERTS >= TOP_K;
            logits[e] = Math.log(isAmongTheRest ? (1 - kept) / (EXPERTS - TOP_K) : (kept - weight) / (TOP_K - 1));
        }
        logits[top] = Math.log(weight);
        TokenExplanation token = TokenExplanation.of(OLMOE, logits);
        assertThat(token.top().orElseThrow().expert()).isEqualTo(top);
        assertThat(token.top().orElseThrow().weight()).isCloseTo(weight, within(1e-12));
        assertThat(token.kept()).isCloseTo(kept, within(1e-12));
        assertThat(token.topShare()).isCloseTo(share, within(0.005));
    }

    /** Sigmoid scores with a selection bias, which decides the ranks alone. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void anyConventionIsTakenApart(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] logits = random.doubles(9, -2, 2).toArray();
        double[] bias = random.doubles(9, -1, 1).toArray();
        RouterConfig config = RouterConfig.topK(9, 3)
                .withScore(new ScoreFunction.Sigmoid())
                .withRenormalization(new Renormalization.Sum())
                .withSelectionBias(true)
                .withScale(2.5);
        double[] scores = Arrays.stream(logits).map(z -> 1 / (1 + Math.exp(-z))).toArray();
        int[] order = IntStream.range(0, 9)
                .boxed()
                .sorted((a, b) -> Double.compare(scores[b] + bias[b], scores[a] + bias[a]))
                .mapToInt(Integer::intValue)
                .toArray();
        double kept = scores[order[0]] + scores[order[1]] + scores[order[2]];
        TokenExplanation token = TokenExplanation.of(config, logits, SelectionBias.of(bias));
        for (int rank = 0; rank < 3; rank++) {
            TokenExplanation.Chosen chosen = token.chosen().get(rank);
            assertThat(chosen.expert()).isEqualTo(order[rank]);
            assertThat(chosen.logit()).isEqualTo(logits[order[rank]]);
            assertThat(chosen.score()).isCloseTo(scores[order[rank]], within(1e-14));
            assertThat(chosen.weight()).isCloseTo(2.5 * scores[order[rank]] / kept, within(1e-14));
        }
        assertThat(token.kept()).isCloseTo(kept, within(1e-14));
        assertThat(token.discarded()).isCloseTo(Arrays.stream(scores).sum() - kept, within(1e-14));
        assertThat(token.weightSum()).isCloseTo(2.5, within(1e-14));
        assertThat(token.topShare()).isCloseTo(scores[order[0]] / kept, within(1e-14));
    }

    @Test
    void everyLayerHasARow() {
        double[] first = new double[2 * EXPERTS];
        System.arraycopy(harbour(), 0, first, EXPERTS, EXPERTS);
        double[] second = new double[2 * EXPERTS];
        second[EXPERTS + 40] = 3;
        List<TokenExplanation> layers = TokenExplanation.overLayers(
                List.of(LogitSource.of(EXPERTS, first), LogitSource.of(EXPERTS, second)), 1, OLMOE);
        assertThat(layers).hasSize(2);
        assertThat(layers.get(0)).isEqualTo(TokenExplanation.of(OLMOE, harbour()));
        assertThat(layers.get(1).top().orElseThrow().expert()).isEqualTo(40);
        assertThat(TokenExplanation.overLayers(List.of(), 0, OLMOE)).isEmpty();
        assertThatThrownBy(() -> TokenExplanation.overLayers(List.of(LogitSource.of(EXPERTS, first)), 2, OLMOE))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void oneExpertKeepsEverything() {
        TokenExplanation token = TokenExplanation.of(RouterConfig.topK(1, 1), new double[] {-3});
        assertThat(token.kept()).isEqualTo(1);
        assertThat(token.discarded()).isZero();
        assertThat(token.topShare()).isEqualTo(1);
        assertThat(new TokenExplanation(List.of(), List.of(0.5), 0, 0.5, 0).topShare())
                .isZero();
    }

    @Test
    void whatNeedsMoreThanARowIsRefused() {
        assertThatThrownBy(() -> TokenExplanation.of(OLMOE, new double[3]))
                .hasMessage("logits: expected 64 numbers (experts) but was 3");
        RouterConfig batch = RouterConfig.topK(4, 2).withSelection(new ExpertSelection.Sinkhorn());
        assertThatThrownBy(() -> TokenExplanation.of(batch, new double[4]))
                .hasMessageStartingWith("config.selection: expected a rule that looks at each token alone");
        assertThatThrownBy(() -> TokenExplanation.of(OLMOE.withSelectionBias(true), new double[EXPERTS]))
                .hasMessageStartingWith("selectionBias: expected");
        assertThatThrownBy(() -> TokenExplanation.of(OLMOE, new double[EXPERTS], SelectionBias.zeros(EXPERTS)))
                .hasMessageStartingWith("config.selectionBias: expected");
    }
}
