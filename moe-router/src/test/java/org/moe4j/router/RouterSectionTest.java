package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.SmallPreset;

class RouterSectionTest {
    private static final RouterConfig BASE = RouterConfig.topK(64, 8);

    @TempDir
    private Path folder;

    private RouterConfig read(String router) throws IOException {
        return RouterConfig.from(SmallPreset.of(folder, "test", 64, "router.topK = 8\n" + router));
    }

    @Test
    void scoresAreRead() throws IOException {
        assertThat(read("router.score = sigmoid")).isEqualTo(BASE.withScore(new ScoreFunction.Sigmoid()));
        assertThat(read("router.score = sigmoid\nrouter.score.epsilon = 1e-7"))
                .isEqualTo(BASE.withScore(new ScoreFunction.Sigmoid(1e-7)));
        assertThat(read("router.score = sqrt-softplus")).isEqualTo(BASE.withScore(new ScoreFunction.SqrtSoftplus()));
    }

    @Test
    void groupsAreRead() throws IOException {
        String limited = """
                router.selection = group-limited
                router.selection.groups = 8
                router.selection.keptGroups = 4
                router.selection.groupScore =""";
        assertThat(read(limited + " sum-of-top-2"))
                .isEqualTo(BASE.withSelection(new ExpertSelection.GroupLimited(8, 4, new GroupScore.SumOfBest(2))));
        assertThat(read(limited + " sum-of-top-7").selection())
                .isEqualTo(new ExpertSelection.GroupLimited(8, 4, new GroupScore.SumOfBest(7)));
        assertThat(read(limited + " top-k-per-kept-group").selection())
                .isEqualTo(new ExpertSelection.GroupLimited(8, 4, new GroupScore.TopKPerKeptGroup()));
        assertThat(read(limited + " max\nrouter.selection.closedGroups = zero").selection())
                .isEqualTo(new ExpertSelection.GroupLimited(
                        8, 4, new GroupScore.Max(), ExpertSelection.ClosedGroups.ZERO));
        assertThat(read(limited + " max\nrouter.selection.closedGroups = minus-infinity")
                        .selection())
                .isEqualTo(new ExpertSelection.GroupLimited(8, 4, new GroupScore.Max()));
    }

    @Test
    void renormalisationsAreRead() throws IOException {
        assertThat(read("router.renormalization = softmax-of-selected"))
                .isEqualTo(BASE.withRenormalization(new Renormalization.SoftmaxOfSelected()));
        assertThat(read("router.renormalization = norm\nrouter.renormalization.p = 2"))
                .isEqualTo(BASE.withRenormalization(new Renormalization.Norm(2)));
        String sum = "router.renormalization = sum\n";
        assertThat(read(sum)).isEqualTo(BASE.withRenormalization(new Renormalization.Sum()));
        assertThat(read(sum + "router.renormalization.epsilon = 0").renormalization())
                .isEqualTo(new Renormalization.Sum());
        assertThat(read(sum + "router.renormalization.epsilon = 1e-20").renormalization())
                .isEqualTo(new Renormalization.Sum(1e-20, Renormalization.EpsilonPlace.IN_SUM));
        assertThat(read(sum + "router.renormalization.epsilon = .5\nrouter.renormalization.epsilonPlace = per-score")
                        .renormalization())
                .isEqualTo(new Renormalization.Sum(.5, Renormalization.EpsilonPlace.PER_SCORE));
    }

    @Test
    void biasesAndPrecisionAreRead() throws IOException {
        assertThat(read("router.selectionBias = true\nrouter.logitBias = true\nrouter.precision = double"))
                .isEqualTo(BASE.withSelectionBias(true).withLogitBias(true).withPrecision(RouterPrecision.DOUBLE));
        assertThat(read("router.selectionBias = false\nrouter.logitBias = false\nrouter.precision = backend"))
                .isEqualTo(BASE);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "router.score.epsilon = 1|router.score.epsilon: expected score = sigmoid but was softmax",
                "router.selection.groups = 2|router.selection.groups: expected selection = group-limited but was plain",
                "router.renormalization.p = 2|router.renormalization.p: expected renormalization = norm but was none",
                "router.renormalization = norm|router.renormalization.p: expected a number above 0 but was absent",
                "router.renormalization.epsilon = 1"
                        + "|router.renormalization.epsilon: expected renormalization = sum but was none",
                "router.renormalization = sum\\nrouter.renormalization.epsilonPlace = floor"
                        + "|router.renormalization.epsilonPlace: expected a renormalization.epsilon above 0 but was absent",
                "router.renormalization = sum\\nrouter.renormalization.epsilon = 1\\nrouter.renormalization.epsilonPlace = top"
                        + "|router.renormalization.epsilonPlace: expected one of [floor, in-sum, per-score] but was top",
                "router.precision = half|router.precision: expected one of [backend, double] but was half",
                "router.logitBias = yes|router.logitBias: expected true or false but was yes",
                "router.selection = group-limited\\nrouter.selection.groups = 8\\nrouter.selection.keptGroups = 4"
                        + "|router.selection.groupScore: expected"
                        + " one of [max, sum-of-top-2, sum-of-top-N, top-k-per-kept-group] but was absent",
                "router.selection = group-limited\\nrouter.selection.groups = 8\\nrouter.selection.keptGroups = 4"
                        + "\\nrouter.selection.groupScore = sum-of-top-0|router.selection.groupScore: expected"
                        + " one of [max, sum-of-top-2, sum-of-top-N, top-k-per-kept-group] but was sum-of-top-0",
            })
    void whatHasNoEffectOrNoMeaningIsRefused(String router, String message) {
        assertThatThrownBy(() -> read(router.replace("\\n", "\n")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset test: " + message);
    }

    @Test
    void groupsHaveToBeNumbered() {
        assertThatThrownBy(() -> read("router.selection = group-limited"))
                .hasMessage("preset test: expected a value for router.selection.groups but was absent");
        assertThatThrownBy(() -> read("router.selectionbias = true"))
                .hasMessage("preset test: unknown key router.selectionbias; did you mean router.selectionBias?");
    }
}
