package org.moe4j.bench.study.balancing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.balancing.BalancingResult.Run;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** The study for a few steps; what it shows in the end is shown by {@code BalancingCommandTest}. */
final class BalancingStudyTest {
    private static final BalancingSettings FEW = new BalancingSettings(2, 10, 5, 64);
    private static final Backend EXACT = ReferenceBackend.instance();

    @Test
    void theSameBitsAgainForAnyNumberOfWorkers() {
        AtomicInteger measurements = new AtomicInteger();
        BalancingResult one =
                BalancingStudy.run(FEW, Nd4jBackend.float64().withWorkers(1), measurements::incrementAndGet);
        assertThat(measurements.get()).isEqualTo(FEW.measurements()).isEqualTo(6);
        for (int workers : new int[] {1, 3}) {
            assertThat(BalancingStudy.run(FEW, Nd4jBackend.float64().withWorkers(workers), () -> {})
                            .runs())
                    .as("%d workers", workers)
                    .isEqualTo(one.runs());
        }
    }

    /** Every step goes on with rounded numbers, so that two backends part slowly; after 10 steps they are still together. */
    @ParameterizedTest
    @ValueSource(strings = {"nd4j", "vector"})
    void theReferenceAgrees(String backend) {
        BalancingResult fast = BalancingStudy.run(FEW, Backends.named(backend, Precision.FLOAT64), () -> {});
        BalancingResult exact = BalancingStudy.run(FEW, EXACT, () -> {});
        for (int i = 0; i < exact.runs().size(); i++) {
            Run expected = exact.runs().get(i);
            Run actual = fast.runs().get(i);
            assertThat(actual.method()).isEqualTo(expected.method());
            assertThat(actual.teacherLoss()).isCloseTo(expected.teacherLoss(), within(1e-12));
            assertThat(actual.end().loss()).isCloseTo(expected.end().loss(), within(1e-6));
        }
    }

    @Test
    void allMethodsStartAlikeAndUneven() {
        BalancingResult result = BalancingStudy.run(new BalancingSettings(1, 1, 1, 4096), EXACT, () -> {});
        Run none = result.runs(BalancingMethod.NONE).get(0);
        assertThat(result.runs()).allMatch(run -> run.start().equals(none.start()));
        assertThat(none.start().maxOverMean()).as("4 is the most").isGreaterThan(2.5);
        // the noise is all the teacher has against it: χ² with 4096·8 degrees of freedom is within 4 of its deviations
        double variance = BalancingLayers.NOISE * BalancingLayers.NOISE;
        assertThat(none.teacherLoss()).isCloseTo(variance, within(4 * variance * Math.sqrt(2.0 / (4096 * 8))));
    }

    /** Each expert is chosen by K/E of all tokens: 5 deviations of the binomial distribution are never seen. */
    @Test
    void theTeacherIsBalancedByConstruction() {
        int tokens = 20_000;
        try (BalancingLayers layers = new BalancingLayers(EXACT, 5);
                Matrix drawn = Initializer.normal(1).draw(EXACT, tokens, BalancingLayers.HIDDEN, 9);
                MoePass pass = layers.teacher().forward(drawn)) {
            pass.output().close();
            double p = BalancingLayers.TOP_K / (double) BalancingLayers.EXPERTS;
            for (int count : pass.routing().tokensPerExpert()) {
                assertThat((double) count).isCloseTo(p * tokens, within(5 * Math.sqrt(tokens * p * (1 - p))));
            }
        }
    }

    @Test
    void theSharedExpertIsFrozenAndAllElseLearns() {
        try (BalancingLayers layers = new BalancingLayers(EXACT, 3);
                Examples examples = Examples.draw(layers.teacher(), BalancingLayers.NOISE, 256, 11);
                MoeLayer start = layers.student();
                Student student = new Student(BalancingMethod.NONE, layers.student())) {
            student.step(List.of(examples), 1);
            try (Parameters before = start.parameters();
                    Parameters after = student.parameters()) {
                assertThat(after.names()).isEqualTo(before.names());
                for (String name : before.names()) {
                    boolean same = Arrays.equals(
                            before.get(name).toArray(), after.get(name).toArray());
                    assertThat(same).as(name).isEqualTo(name.startsWith("shared."));
                }
            }
        }
    }

    /** Two halves of the examples in one step are the whole: the gradient of a mean is the mean of gradients. */
    @Test
    void microBatchesAddUpToTheWholeBatch() {
        try (BalancingLayers layers = new BalancingLayers(EXACT, 3);
                Examples whole = Examples.draw(layers.teacher(), BalancingLayers.NOISE, 64, 11);
                Examples first = rows(whole, 0);
                Examples second = rows(whole, 32);
                Student atOnce = new Student(BalancingMethod.BIAS, layers.student());
                Student inParts = new Student(BalancingMethod.BIAS, layers.student())) {
            for (int step = 0; step < 3; step++) {
                atOnce.step(List.of(whole), 1);
                inParts.step(List.of(first, second), 1);
            }
            try (Parameters expected = atOnce.parameters();
                    Parameters actual = inParts.parameters()) {
                for (String name : expected.names()) {
                    // sums in another order; where a gradient is nearly 0, Adam divides its rounding by little
                    assertThat(actual.get(name).toArray())
                            .as(name)
                            .containsExactly(expected.get(name).toArray(), within(1e-8));
                }
            }
        }
    }

    private static Examples rows(Examples whole, int from) {
        int[] rows = IntStream.range(from, from + 32).toArray();
        return new Examples(EXACT.gatherRows(whole.tokens(), rows), EXACT.gatherRows(whole.targets(), rows));
    }

    @Test
    void ratesStayAndThenFallToZero() {
        assertThat(BalancingRun.pace(0)).isEqualTo(1);
        assertThat(BalancingRun.pace(0.499)).isEqualTo(1);
        assertThat(BalancingRun.pace(0.75)).isCloseTo(0.5, within(1e-15));
        assertThat(BalancingRun.pace(1)).isCloseTo(0, within(1e-15));
    }
}
