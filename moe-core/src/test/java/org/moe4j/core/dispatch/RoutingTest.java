package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class RoutingTest {
    @Test
    void readsBackWhatItWasGiven() {
        Routing routing = Routing.of(4, 2, new int[] {3, 0, 1, 2}, new double[] {.1, .2, .3, .4});
        assertThat(routing.tokens()).isEqualTo(2);
        assertThat(routing.topK()).isEqualTo(2);
        assertThat(routing.slots()).isEqualTo(4);
        assertThat(routing.expert(0, 0)).isEqualTo(3);
        assertThat(routing.expert(1, 1)).isEqualTo(2);
        assertThat(routing.weight(1, 0)).isEqualTo(.3);
        assertThat(routing.tokensPerExpert()).containsExactly(1, 1, 1, 1);
        assertThat(routing).hasToString("Routing[2 tokens, 4 experts, top 2]");
    }

    @Test
    void copiesItsArrays() {
        int[] experts = {0, 1};
        double[] weights = {.5, .5};
        Routing routing = Routing.of(2, 1, experts, weights);
        experts[0] = 1;
        weights[0] = 9;
        assertThat(routing.expert(0, 0)).isZero();
        assertThat(routing.weight(0, 0)).isEqualTo(.5);
    }

    @Test
    void varyingCountsIncludeNone() {
        Routing routing = Routing.ofVarying(3, new int[] {0, 2, 2, 3}, new int[] {1, 2, 0}, new double[] {1, 2, 3});
        assertThat(routing.tokens()).isEqualTo(3);
        assertThat(routing.topK()).isEqualTo(2);
        assertThat(routing.count(0)).isEqualTo(2);
        assertThat(routing.count(1)).isZero();
        assertThat(routing.expert(2, 0)).isZero();
        assertThat(routing.slot(2, 0)).isEqualTo(2);
    }

    @Test
    void noTokensAreLegal() {
        assertThat(Routing.of(2, 2, new int[0], new double[0]).tokens()).isZero();
        assertThat(Routing.ofVarying(2, new int[] {0}, new int[0], new double[0])
                        .topK())
                .isZero();
    }

    @Test
    void refusesWhatIsNotARouting() {
        assertThatThrownBy(() -> Routing.of(64, 65, new int[0], new double[0]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topK: expected 1..64 (experts) but was 65");
        assertThatThrownBy(() -> Routing.of(2, 2, new int[] {0}, new double[] {1}))
                .hasMessage("expertIndices: expected a multiple of topK (2) indices but was 1");
        assertThatThrownBy(() -> Routing.of(2, 1, new int[] {0}, new double[0]))
                .hasMessage("weights: expected 1 weights (one per expert index) but was 0");
        assertThatThrownBy(() -> Routing.of(2, 1, new int[] {2}, new double[] {1}))
                .hasMessage("expertIndices: expected 0..1 (experts) but was 2 for token 0");
        assertThatThrownBy(() -> Routing.of(2, 2, new int[] {1, 1}, new double[] {1, 1}))
                .hasMessage(
                        "expertIndices: expected distinct experts for each token but was expert 1 twice for token 0");
        assertThatThrownBy(() -> Routing.of(2, 1, new int[] {1}, new double[] {Double.NaN}))
                .hasMessage("weights: expected finite weights but was NaN for token 0");
        assertThatThrownBy(() -> Routing.ofVarying(2, new int[] {0, 3}, new int[3], new double[3]))
                .hasMessage("tokenOffsets: expected 0..2 (experts of token 0) but was 3");
        assertThatThrownBy(() -> Routing.ofVarying(2, new int[] {0, 1}, new int[] {0, 1}, new double[2]))
                .hasMessage("tokenOffsets: expected 2 as the last position but was 1");
        assertThatThrownBy(() -> Routing.ofVarying(2, new int[] {1}, new int[1], new double[1]))
                .hasMessageStartingWith("tokenOffsets[0]: expected 0");
        assertThatThrownBy(
                        () -> Routing.of(2, 1, new int[] {1}, new double[] {1}).expert(0, 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(
                        () -> Routing.of(2, 1, new int[] {1}, new double[] {1}).count(1))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }
}
