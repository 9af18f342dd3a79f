package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.RowLimit;
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
    void twoExpertsAreRead() throws IOException {
        String two = "router.topK = 2\nrouter.selection = top-two\n";
        assertThat(readAll(two).selection()).isEqualTo(new ExpertSelection.TopTwo(new SecondExpert.All()));
        assertThat(readAll(two + "router.selection.secondExpert = sampled").selection())
                .isEqualTo(new ExpertSelection.TopTwo(new SecondExpert.Sampled()));
        assertThat(readAll(two + "router.selection.secondExpert = random\nrouter.selection.threshold = 0.2")
                        .selection())
                .isEqualTo(new ExpertSelection.TopTwo(new SecondExpert.Random(.2)));
    }

    @Test
    void sinkhornIsRead() throws IOException {
        assertThat(read("router.selection = sinkhorn").selection()).isEqualTo(new ExpertSelection.Sinkhorn(1e-4, 1000));
        assertThat(read("router.selection = sinkhorn\nrouter.selection.tolerance = 1e-6\n"
                                + "router.selection.maxIterations = 7")
                        .selection())
                .isEqualTo(new ExpertSelection.Sinkhorn(1e-6, 7));
    }

    @Test
    void expertChoiceIsRead() throws IOException {
        String choice = "router.selection = expert-choice\nrouter.selection.factor = 1.25\n";
        RowLimit.OfShare rows = RowLimit.factor(1.25);
        assertThat(read(choice).selection())
                .isEqualTo(new ExpertSelection.ExpertChoice(
                        rows.withZeroRows(RowLimit.ZeroRows.NO_ROWS), CapacityScope.batch()));
        assertThat(read(choice + "router.selection.share = tokens\nrouter.selection.rounding = half-even\n"
                                + "router.selection.minimum = 4\nrouter.selection.multipleOf = 2\n"
                                + "router.selection.groupSize = 512")
                        .selection())
                .isEqualTo(new ExpertSelection.ExpertChoice(
                        rows.withShare(RowLimit.EvenShare.TOKENS)
                                .withRounding(Capacity.Rounding.HALF_EVEN)
                                .withMinimum(4)
                                .withMultipleOf(2),
                        CapacityScope.groups(512)));
    }

    @Test
    void noiseIsRead() throws IOException {
        assertThat(noise("")).isEmpty();
        assertThat(noise("noise.kind = input-jitter\nnoise.epsilon = 0.01")).contains(new RouterNoise.InputJitter(.01));
        assertThat(noise("noise.kind = fixed-normal")).contains(new RouterNoise.FixedNormal(1));
        assertThat(noise("noise.kind = fixed-normal\nnoise.deviation = 2")).contains(new RouterNoise.FixedNormal(2));
        assertThat(noise("noise.kind = learned-normal")).contains(new RouterNoise.LearnedNormal(.01));
        assertThat(noise("noise.kind = learned-normal\nnoise.floor = 0")).contains(new RouterNoise.LearnedNormal(0));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "noise.epsilon = 1|noise.epsilon: expected noise.kind = input-jitter but was absent",
                "noise.kind = input-jitter|noise.epsilon: expected a number in (0, 1) but was absent",
                "noise.kind = input-jitter\\nnoise.epsilon = 1|noise.epsilon: expected a number in (0, 1) but was 1.0",
                "noise.kind = fixed-normal\\nnoise.floor = 1|noise.floor: expected noise.kind = learned-normal but was fixed-normal",
                "noise.kind = gumbel|noise.kind: expected one of [fixed-normal, input-jitter, learned-normal] but was gumbel",
            })
    void noiseWithoutEffectOrMeaningIsRefused(String keys, String message) {
        assertThatThrownBy(() -> noise(keys.replace("\\n", "\n")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset test: " + message);
    }

    private Optional<RouterNoise> noise(String keys) throws IOException {
        return RouterNoise.from(SmallPreset.of(folder, "test", 64, "router.topK = 8\n" + keys));
    }

    private RouterConfig readAll(String keys) throws IOException {
        return RouterConfig.from(SmallPreset.of(folder, "test", 64, keys));
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
                "router.score.epsilon = 1|router.score.epsilon: expected router.score = sigmoid but was softmax",
                "router.selection.groups = 2|router.selection.groups: expected router.selection = group-limited but was plain",
                "router.renormalization.p = 2|router.renormalization.p: expected router.renormalization = norm but was none",
                "router.renormalization = norm|router.renormalization.p: expected a number above 0 but was absent",
                "router.renormalization.epsilon = 1"
                        + "|router.renormalization.epsilon: expected router.renormalization = sum but was none",
                "router.renormalization = sum\\nrouter.renormalization.epsilonPlace = floor"
                        + "|router.renormalization.epsilonPlace: expected a router.renormalization.epsilon above 0 but was absent",
                "router.renormalization = sum\\nrouter.renormalization.epsilon = 1\\nrouter.renormalization.epsilonPlace = top"
                        + "|router.renormalization.epsilonPlace: expected one of [floor, in-sum, per-score] but was top",
                "router.selection.factor = 1|router.selection.factor: expected router.selection = expert-choice but was plain",
                "router.selection = expert-choice|router.selection.factor: expected a number above 0 but was absent",
                "router.selection = expert-choice\\nrouter.selection.factor = 0"
                        + "|router.selection.factor: expected a finite number above 0 but was 0.0",
                "router.selection.threshold = 1|router.selection.threshold: expected router.selection = top-two but was plain",
                "router.selection = top-two|router.topK: expected 2 (the experts of a token with TopTwo) but was 8",
                "router.selection = sinkhorn\\nrouter.selectionBias = true|router.selectionBias: expected false"
                        + " with Sinkhorn[tolerance=1.0E-4, maxIterations=1000] but was true",
                "router.selection = sinkhorn\\nrouter.selection.tolerance = 0"
                        + "|router.selection.tolerance: expected a finite number above 0 but was 0.0",
                "router.selection.maxIterations = 1|router.selection.maxIterations: expected router.selection = sinkhorn but was plain",
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
    void aThresholdBelongsToRandomSeconds() {
        String two = "router.topK = 2\nrouter.selection = top-two\n";
        assertThatThrownBy(() -> readAll(two + "router.selection.threshold = 1"))
                .hasMessage(
                        "preset test: router.selection.threshold: expected router.selection.secondExpert = random but was all");
        assertThatThrownBy(() -> readAll(two + "router.selection.secondExpert = random"))
                .hasMessage("preset test: router.selection.threshold: expected a number of at least 0 but was absent");
        assertThatThrownBy(() -> readAll(two + "router.selection.secondExpert = best"))
                .hasMessage(
                        "preset test: router.selection.secondExpert: expected one of [all, random, sampled] but was best");
    }

    @Test
    void groupsHaveToBeNumbered() {
        assertThatThrownBy(() -> read("router.selection = group-limited"))
                .hasMessage("preset test: expected a value for router.selection.groups but was absent");
        assertThatThrownBy(() -> read("router.selectionbias = true"))
                .hasMessage(
                        "preset test: expected a known key but was router.selectionbias; did you mean router.selectionBias?");
    }
}
