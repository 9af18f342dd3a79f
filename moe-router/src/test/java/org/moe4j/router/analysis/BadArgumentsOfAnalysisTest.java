package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.router.GroupScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.analysis.bill.NumberType;
import org.moe4j.router.analysis.cache.LfuSimulation;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.DeviceSpread;
import org.moe4j.router.analysis.device.ExpertCopies;
import org.moe4j.router.analysis.token.DotProducts;
import org.moe4j.router.analysis.token.GradientReach;

/** Sizes that overflow, places that there are not, and lists that do not belong together. */
class BadArgumentsOfAnalysisTest {
    private static final int MAX = Integer.MAX_VALUE;
    private static final int[] FOUR = {0, 1, 2, 3};

    private static Arguments of(ThrowingCallable call, String message) {
        return Arguments.of(call, message);
    }

    static List<Arguments> refused() {
        double[] one = new double[1];
        double[] two = new double[2];
        ChosenExperts chosen = ChosenExperts.of(4, 2, 2, FOUR);
        ExpertCopies copies = ExpertCopies.greedy(new long[] {3, 1}, 2, 2);
        DevicePlacement placement = DevicePlacement.contiguous(2, 1);
        long[] many = {Long.MAX_VALUE, 1};
        return List.of(
                of(
                        () -> new CoActivation.Counter(MAX),
                        "experts: expected 1..46340 (whose pairs an array can count) but"),
                of(() -> new LfuSimulation(MAX, 1, LfuSimulation.Counts.FORGOTTEN), "experts: expected 1..2147483638 "),
                of(() -> ChosenExperts.of(4, 2, MAX, FOUR), "tokens x topK: expected a product below 2^31 but was"),
                of(() -> chosen.start(4), "Index 4 out of bounds for length 3"),
                of(() -> chosen.end(2), "Index 2 out of bounds for length 2"),
                of(() -> chosen.expert(4), "Index 4 out of bounds for length 4"),
                of(() -> copies.copies(-1), "Index -1 out of bounds for length 2"),
                of(() -> copies.experts(2), "Index 2 out of bounds for length 2"),
                of(() -> copies.load(2), "Index 2 out of bounds for length 2"),
                of(() -> ExpertCopies.greedy(new long[] {1}, MAX, 1), "devices: expected 1..65536 "),
                of(() -> placement.device(2), "Index 2 out of bounds for length 2"),
                of(() -> placement.load(many), "expertLoad: expected at most 2^63 - 1 assignments of a device but was"),
                of(
                        () -> new DeviceSpread.Result(4, 1, List.of(), List.of(1L)),
                        "tokensByDevices: expected 5 numbers (0..devices) but was 1"),
                of(() -> NumberType.FLOAT64.bytes(Long.MAX_VALUE), "numbers: expected a product below 2^63 but was"),
                of(
                        () -> new DotProducts(List.of(1.0), List.of(), 0),
                        "byHand: expected 0 dot products (one per logit)"),
                of(
                        () -> GradientReach.logitGradients(two, new int[] {2}, one, one),
                        "Index 2 out of bounds for length 2"),
                of(() -> LogitSource.of(2, two).read(0, 1, one), "into.length: expected at least 2 but was 1"),
                of(() -> new GroupScore.TopKPerKeptGroup().best(4, 0), "keptGroups: expected at least 1 but was 0"),
                of(
                        () -> new ScoreFunction.Softmax().scores(two, 1, two),
                        "logits: expected at least 4 numbers (experts of"),
                of(() -> new ScoreFunction.Sigmoid().scores(two, -1, two), "token: expected at least 0 but was -1"),
                of(
                        () -> new ScoreFunction.SqrtSoftplus().logitGradients(two, 0, two, one, two),
                        "dScores: expected 2 numbers (one per score) but was 1"),
                of(
                        () -> new Renormalization.None().weights(two, 0, two, 1),
                        "Range [1, 1 + 2) out of bounds for length 2"),
                of(
                        () -> new Renormalization.SoftmaxOfSelected().scoreGradients(two, one, two),
                        "dWeights: expected 2 numbers (one per selected score) but was 1"));
    }

    @ParameterizedTest
    @MethodSource("refused")
    void badArgumentsAreNamed(ThrowingCallable call, String message) {
        assertThatThrownBy(call).hasMessageStartingWith(message);
    }
}
