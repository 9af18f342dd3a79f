package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;

final class ChosenExpertsTest {
    @Test
    void fixedAndVaryingSaySlotsAlike() {
        ChosenExperts fixed = ChosenExperts.of(5, 2, 3, new int[] {0, 4, 2, 1, 3, 0, 77});
        ChosenExperts varying = ChosenExperts.ofVarying(5, 2, new int[] {0, 2, 4, 6}, new int[] {0, 4, 2, 1, 3, 0, 77});

        for (ChosenExperts block : new ChosenExperts[] {fixed, varying, varying.copy()}) {
            assertThat(block.tokens()).isEqualTo(3);
            assertThat(block.slots()).isEqualTo(6);
            assertThat(block.topK()).isEqualTo(2);
            assertThat(block.start(1)).isEqualTo(2);
            assertThat(block.end(1)).isEqualTo(4);
            assertThat(block.expert(4)).isEqualTo(3);
            assertThat(block.expertsOf(1)).containsExactly(2, 1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {5, 64, 65, 300})
    void refusesWhatIsNoChoice(int experts) {
        assertThatThrownBy(() -> ChosenExperts.of(experts, 2, 2, new int[] {0, 1, 2, experts}))
                .hasMessage("indices: expected 0.." + (experts - 1) + " (experts) but was " + experts + " for token 1");
        assertThatThrownBy(() -> ChosenExperts.of(experts, 2, 2, new int[] {0, 1, -1, 2}))
                .hasMessage("indices: expected 0.." + (experts - 1) + " (experts) but was -1 for token 1");
        assertThatThrownBy(() -> ChosenExperts.of(experts, 2, 2, new int[] {0, 1, 3, 3}))
                .hasMessage("indices: expected distinct experts for each token but was expert 3 twice for token 1");
        assertThatThrownBy(() -> ChosenExperts.of(experts, 2, 2, new int[] {0, 1, 3}))
                .hasMessage("indices.length: expected at least 4 but was 3");
        assertThatThrownBy(() -> ChosenExperts.ofVarying(experts, 2, new int[] {0, 3}, new int[3]))
                .hasMessage("offsets: expected 0..2 (experts of token 0) but was 3");
        assertThatThrownBy(() -> ChosenExperts.ofVarying(experts, 2, new int[] {1, 3}, new int[3]))
                .hasMessageContaining("offsets[0]: expected 0");
        assertThatThrownBy(() -> ChosenExperts.ofVarying(experts, 2, new int[] {0, 2}, new int[1]))
                .hasMessage("indices.length: expected at least 2 but was 1");
    }

    @Test
    void sourceOfLogitsIsWhatTheRuleMakesOfThem() {
        double[] logits = {0, 3, 1, 2, 5, 4, -1, 0};
        RoutingSource source = RoutingSource.of(LogitSource.of(4, logits), RouterConfig.topK(4, 2));

        assertThat(source.tokens()).isEqualTo(2);
        assertThat(source.experts()).isEqualTo(4);
        assertThat(source.topK()).isEqualTo(2);
        assertThat(source.block(0, 2).expertsOf(0)).containsExactly(1, 3);
        assertThat(source.block(1, 1).expertsOf(0)).containsExactly(0, 1);
        assertThat(source.block(2, 0).tokens()).isZero();
        assertThatThrownBy(() -> source.block(1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void logitsHaveToBeFiniteAndWhole() {
        assertThatThrownBy(() -> LogitSource.of(2, new double[] {0, 1, 2, Double.NaN}))
                .hasMessage("router logits: expected finite values but token 1, expert 1 has NaN");
        assertThatThrownBy(() -> LogitSource.of(2, new double[3]))
                .hasMessage("logits: expected a multiple of 2 numbers (experts) but was 3");
    }

    @Test
    void sourceOfLogitsRefusesRulesThatNeedMore() {
        LogitSource logits = LogitSource.of(4, new double[8]);

        assertThatThrownBy(() -> RoutingSource.of(logits, RouterConfig.topK(5, 2)))
                .hasMessageStartingWith("config: expected 4 experts");
        assertThatThrownBy(
                        () -> RoutingSource.of(logits, RouterConfig.topK(4, 2).withSelectionBias(true)))
                .hasMessageContaining("selectionBias");
        assertThatThrownBy(() ->
                        RoutingSource.of(logits, RouterConfig.topK(4, 2).withSelection(new ExpertSelection.Sinkhorn())))
                .hasMessageStartingWith("config.selection: expected a rule that looks at each token alone");
    }

    @Test
    void sourceOfARoutingGivesItsTokens() {
        RoutingSource source =
                RoutingSource.of(Routing.ofVarying(3, new int[] {0, 0, 2}, new int[] {2, 0}, new double[] {1, 1}));

        assertThat(source.topK()).isEqualTo(2);
        assertThat(source.block(0, 2).expertsOf(0)).isEmpty();
        assertThat(source.block(1, 1).expertsOf(0)).containsExactly(2, 0);
    }
}
