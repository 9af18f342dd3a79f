package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

class SelectionBiasTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    @Test
    void followsTheSignRule() {
        SelectionBias bias = SelectionBias.zeros(4).updated(new int[] {5, 1, 3, 3}, .25);
        assertThat(bias.values()).containsExactly(-.25, .25, 0, 0);
        assertThat(bias.updated(new int[] {0, 0, 0, 9}, .25).values()).containsExactly(0, .5, .25, -.25);
        assertThat(bias.updated(new int[4], .25)).isEqualTo(bias);
        assertThat(bias.experts()).isEqualTo(4);
    }

    @Test
    void comparesCountsInWholeNumbers() {
        int large = Integer.MAX_VALUE;
        assertThat(SelectionBias.zeros(3)
                        .updated(new int[] {large, large - 1, large - 1}, 1e-3)
                        .values())
                .containsExactly(-1e-3, 1e-3, 1e-3);
    }

    @Test
    void smallStepsAreNotLost() {
        SelectionBias bias = SelectionBias.of(new double[] {1, -1});
        for (int step = 0; step < 1000; step++) {
            bias = bias.updated(new int[] {0, 2}, 1e-9);
        }
        assertThat(bias.values()[0] - 1).isCloseTo(1e-6, within(1e-12));
    }

    @Test
    void theCenteredRuleKeepsTheMeanAtZeroAndTheDifferences() {
        int[] counts = {9, 0, 0, 0};
        SelectionBias plain = SelectionBias.zeros(4).updated(counts, .5);
        SelectionBias centered = SelectionBias.zeros(4).updatedCentered(counts, .5);
        assertThat(plain.values()).containsExactly(-.5, .5, .5, .5);
        assertThat(centered.values()).containsExactly(-.75, .25, .25, .25);
        SelectionBias given = SelectionBias.of(new double[] {1, 2, 3}).updatedCentered(new int[] {1, 1, 1}, 1);
        assertThat(Arrays.stream(given.values()).sum()).isZero();
    }

    @Test
    void isAValue() {
        double[] values = {1, 2};
        SelectionBias bias = SelectionBias.of(values);
        values[0] = 9;
        bias.values()[1] = 9;
        assertThat(bias)
                .isEqualTo(SelectionBias.of(new double[] {1, 2}))
                .hasSameHashCodeAs(SelectionBias.of(new double[] {1, 2}))
                .isNotEqualTo(SelectionBias.zeros(2))
                .isNotEqualTo("bias")
                .hasToString("SelectionBias[1.0, 2.0]");
    }

    @Test
    void badArgumentsAreRefused() {
        SelectionBias bias = SelectionBias.zeros(2);
        assertThatThrownBy(() -> SelectionBias.of(new double[] {0, Double.NaN}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("values: expected numbers of at most 1.0E290 in size but was NaN for expert 1");
        assertThatThrownBy(() -> SelectionBias.of(new double[] {-2e290}))
                .hasMessage("values: expected numbers of at most 1.0E290 in size but was -2.0E290 for expert 0");
        assertThatThrownBy(() -> SelectionBias.zeros(0)).hasMessage("experts: expected at least 1 but was 0");
        assertThatThrownBy(() -> SelectionBias.of(new double[0]))
                .hasMessage("values.length: expected at least 1 but was 0");
        assertThatThrownBy(() -> bias.updated(new int[3], 1))
                .hasMessage("tokensPerExpert: expected 2 counts (experts) but was 3");
        assertThatThrownBy(() -> bias.updated(new int[] {1, -1}, 1))
                .hasMessage("tokensPerExpert: expected at least 0 but was -1");
        assertThatThrownBy(() -> bias.updated(new int[2], 0))
                .hasMessage("rate: expected a finite number above 0 but was 0.0");
    }

    @Test
    void steersTheChoiceAndNothingElse() {
        RouterConfig config = RouterConfig.topK(3, 2).withScore(new ScoreFunction.Sigmoid());
        TopKRouter plain = TopKRouter.of(config, BACKEND.matrix(3, 1, new double[] {2, 1, 0}));
        TopKRouter steered = plain.withSelectionBias(SelectionBias.of(new double[] {0, -5, 5}));
        TopKPass pass = steered.route(BACKEND.matrix(1, 1, new double[] {1}), RoutingContext.plain());
        double[] scores = config.score().scores(new double[] {2, 1, 0});
        assertThat(pass.scores()).containsExactly(scores);
        assertThat(pass.choiceScores()).containsExactly(scores[0], scores[1] - 5, scores[2] + 5);
        assertThat(pass.routing().expert(0, 0)).isEqualTo(2);
        assertThat(pass.routing().weight(0, 0)).isEqualTo(scores[2]);
        assertThat(pass.routing().weight(0, 1)).isEqualTo(scores[0]);
        Parameters gradients = pass.backward(new double[] {1, 1}, new double[0]).parameters();
        assertThat(gradients.names()).containsExactly("weight");
        assertThat(gradients.get("weight").get(1, 0)).isZero();
    }

    @Test
    void staysWithTheRouterWhenParametersChange() {
        SelectionBias bias = SelectionBias.of(new double[] {1, 2});
        TopKRouter router = TopKRouter.of(
                RouterConfig.topK(2, 1).withSelectionBias(true), BACKEND.matrix(2, 1, new double[] {1, 1}));
        assertThat(router.selectionBias()).contains(SelectionBias.zeros(2));
        TopKRouter changed = router.withSelectionBias(bias).withParameters(router.parameters());
        assertThat(changed.selectionBias()).contains(bias);
        assertThat(changed.config().selectionBias()).isTrue();
        assertThat(TopKRouter.of(RouterConfig.topK(2, 1), BACKEND.matrix(2, 1, new double[2]))
                        .selectionBias())
                .isEmpty();
        assertThatThrownBy(() -> router.withSelectionBias(SelectionBias.zeros(3)))
                .hasMessage("selectionBias: expected 2 values (experts) but was 3");
    }
}
