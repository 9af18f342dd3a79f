package org.moe4j.bench.study.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.study.Examples;
import org.moe4j.bench.study.Norms;
import org.moe4j.bench.study.budget.Budget.Paths;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** The study for a few steps; the whole of it is run by {@code SharedBudgetCommandTest}. */
final class BudgetStudyTest {
    private static final BudgetSettings FEW = new BudgetSettings(2, 6, 3, 64, 4);
    private static final Backend EXACT = ReferenceBackend.instance();

    @Test
    void theSameBitsAgainForAnyNumberOfWorkers() {
        AtomicInteger measurements = new AtomicInteger();
        BudgetResult one = BudgetStudy.run(FEW, Nd4jBackend.float64().withWorkers(1), measurements::incrementAndGet);
        assertThat(measurements.get()).isEqualTo(FEW.measurements()).isEqualTo(12);
        BudgetResult again = BudgetStudy.run(FEW, Nd4jBackend.float64().withWorkers(3), () -> {});
        assertThat(again.runs()).isEqualTo(one.runs());
        assertThat(again.scales()).isEqualTo(one.scales());
        assertThat(one.runs()).hasSize(2 * 4 * 2);
        assertThat(one.scales()).hasSize(4 * 2);
    }

    /** Every step goes on with rounded numbers, so that two backends part slowly; after 6 steps they are still together. */
    @ParameterizedTest
    @ValueSource(strings = {"nd4j", "vector"})
    void theReferenceAgrees(String backend) {
        BudgetResult fast = BudgetStudy.run(FEW, Backends.named(backend, Precision.FLOAT64), () -> {});
        BudgetResult exact = BudgetStudy.run(FEW, EXACT, () -> {});
        for (int i = 0; i < exact.runs().size(); i++) {
            Run expected = exact.runs().get(i);
            Run actual = fast.runs().get(i);
            assertThat(actual.variant()).isEqualTo(expected.variant());
            assertThat(actual.teacherLoss()).isCloseTo(expected.teacherLoss(), within(1e-12));
            assertThat(actual.end().loss()).isCloseTo(expected.end().loss(), within(1e-6));
        }
    }

    /** Budgets written out: an expert of width 9 has 3·8·9 weights, one of width 6 has 3·8·6. */
    @Test
    void budgetsAreWhatTheSizesSay() {
        BudgetResult result = BudgetStudy.run(FEW, EXACT, () -> {});
        assertThat(result.shortfall().filter(line -> !line.startsWith("start rms")))
                .isEmpty();
        budget(result, BudgetVariant.NONE, new Paths(64, 8 * 216, 0), new Paths(128, 3 * 432, 0));
        budget(result, BudgetVariant.ADDITIVE, new Paths(64, 8 * 216, 216), new Paths(128, 3 * 432, 432));
        budget(result, BudgetVariant.FEWER, new Paths(56, 7 * 216, 216), new Paths(112, 2 * 432, 432));
        budget(result, BudgetVariant.NARROWER, new Paths(64, 8 * 144, 216), new Paths(128, 3 * 288, 432));
    }

    private static void budget(BudgetResult result, BudgetVariant variant, Paths stored, Paths active) {
        for (BudgetTeacher teacher : BudgetTeacher.values()) {
            assertThat(result.runs(teacher, variant))
                    .hasSize(2)
                    .allSatisfy(run -> assertThat(run.budget()).isEqualTo(new Budget(stored, active)))
                    .allSatisfy(run -> assertThat(run.rows().routed()).isEqualTo(64L * variant.topK()))
                    .allSatisfy(run -> assertThat(run.rows().shared()).isEqualTo(variant.shares() ? 64 : 0));
        }
    }

    /** Groups are equally likely: 5 deviations of the binomial distribution are never seen. */
    @Test
    void groupsAreAsLargeAsEachOther() {
        int tokens = 20_000;
        try (MoeLayer teacher = BudgetLayers.teacher(BudgetTeacher.COMMON, EXACT, 3);
                HeldOut drawn = HeldOut.draw(teacher, tokens, 7)) {
            for (int g = 0; g < 4; g++) {
                int group = g;
                double count =
                        Arrays.stream(drawn.groups()).filter(of -> of == group).count();
                assertThat(count).isCloseTo(tokens / 4.0, within(5 * Math.sqrt(tokens * 3 / 16.0)));
            }
            // the noise is all the teacher has against it: χ² with 20000·8 degrees of freedom
            assertThat(drawn.teacherLoss()).isCloseTo(0.25, within(4 * 0.25 * Math.sqrt(2.0 / (tokens * 8))));
        }
    }

    /** On average over teachers; of a single one the parts differ. */
    @Test
    void aTeacherHasHalfOfItsVarianceInCommonOrNothing() {
        double[] shares = new double[2];
        double[] totals = new double[2];
        for (int seed = 0; seed < 40; seed++) {
            for (BudgetTeacher kind : BudgetTeacher.values()) {
                int i = kind == BudgetTeacher.COMMON ? 0 : 1;
                try (MoeLayer teacher = BudgetLayers.teacher(kind, EXACT, seed);
                        Matrix tokens = Initializer.normal(1).draw(EXACT, 200, BudgetLayers.HIDDEN, seed + 100);
                        MoePass pass = teacher.forward(tokens)) {
                    pass.output().close();
                    shares[i] += Norms.squares(pass.sharedOutputs().get(0));
                    totals[i] += Norms.squares(pass.sharedOutputs().get(0)) + Norms.squares(pass.routedOutput());
                }
            }
        }
        assertThat(shares[0] / totals[0]).isBetween(0.4, 0.6);
        assertThat(shares[1]).isZero();
        assertThat(totals[0] / totals[1]).isBetween(0.8, 1.25);
    }

    @Test
    void studentsStartAlikeAsFarAsTheyHaveTheSameParts() {
        try (MoeLayer none = BudgetLayers.student(BudgetVariant.NONE, EXACT, 5);
                MoeLayer additive = BudgetLayers.student(BudgetVariant.ADDITIVE, EXACT, 5);
                Parameters expected = none.parameters();
                Parameters actual = additive.parameters()) {
            assertThat(actual.names())
                    .containsAll(expected.names())
                    .hasSize(expected.names().size() + 3);
            for (String name : expected.names()) {
                assertThat(actual.get(name).toArray())
                        .as(name)
                        .isEqualTo(expected.get(name).toArray());
            }
        }
    }

    @Test
    void everythingLearns() {
        try (MoeLayer teacher = BudgetLayers.teacher(BudgetTeacher.COMMON, EXACT, 3);
                Examples examples = Examples.draw(teacher, BudgetLayers.NOISE, 256, 11);
                MoeLayer start = BudgetLayers.student(BudgetVariant.FEWER, EXACT, 5);
                BudgetStudent student =
                        new BudgetStudent(BudgetVariant.FEWER, BudgetLayers.student(BudgetVariant.FEWER, EXACT, 5))) {
            student.step(examples, 1);
            try (Parameters before = start.parameters();
                    Parameters after = student.parameters()) {
                assertThat(after.names()).isEqualTo(before.names());
                for (String name : before.names()) {
                    assertThat(after.get(name).toArray())
                            .as(name)
                            .isNotEqualTo(before.get(name).toArray());
                }
            }
        }
    }

    /** What is left of {@code K·R + S} is one of its terms. */
    @ParameterizedTest
    @EnumSource(BudgetVariant.class)
    void interventionsLeaveTheOtherBranchAsItIs(BudgetVariant variant) {
        try (MoeLayer teacher = BudgetLayers.teacher(BudgetTeacher.COMMON, EXACT, 3);
                Examples examples = Examples.draw(teacher, BudgetLayers.NOISE, 64, 11);
                MoeLayer student = BudgetLayers.student(variant, EXACT, 5);
                MoePass pass = student.forward(examples.tokens());
                Matrix zero = EXACT.buffer(64, BudgetLayers.HIDDEN);
                Matrix routed = EXACT.linearCombination(variant.topK(), pass.routedOutput(), 0, pass.routedOutput());
                Matrix whole = pass.output()) {
            Interventions found = Interventions.on(student, examples);
            Matrix shared = variant.shares() ? pass.sharedOutputs().get(0) : zero;
            assertThat(found.routedOff()).isCloseTo(examples.loss(shared), within(1e-12));
            if (variant.shares()) {
                assertThat(found.sharedOff().orElseThrow()).isCloseTo(examples.loss(routed), within(1e-12));
                assertThat(found.routedInstead()).isPresent();
            } else {
                assertThat(found.sharedOff()).isEmpty();
                assertThat(found.routedInstead()).isEmpty();
                assertThat(examples.loss(whole)).isCloseTo(examples.loss(routed), within(1e-12));
            }
        }
    }

    /** By hand: the three largest logits of seven, softmax over them times three, and the shared expert left out. */
    @Test
    void oneRoutedExpertMoreIsTheNextOne() {
        try (MoeLayer teacher = BudgetLayers.teacher(BudgetTeacher.COMMON, EXACT, 3);
                Examples examples = Examples.draw(teacher, BudgetLayers.NOISE, 40, 11);
                MoeLayer student = BudgetLayers.student(BudgetVariant.FEWER, EXACT, 5);
                Parameters parameters = student.parameters();
                Matrix logits = EXACT.matmulTransB(examples.tokens(), parameters.get("router.weight"));
                Matrix outputs = ofAllExperts(student, examples.tokens());
                Matrix expected = EXACT.matrix(40, 8, ofThree(logits, outputs))) {
            assertThat(Interventions.on(student, examples).routedInstead().orElseThrow())
                    .isCloseTo(examples.loss(expected), within(1e-12));
        }
    }

    /** Expert after expert, the output on every token. */
    private static Matrix ofAllExperts(MoeLayer layer, Matrix tokens) {
        int experts = layer.experts().shape().count();
        int[] sizes = new int[experts];
        Arrays.fill(sizes, tokens.rows());
        int[] rows = IntStream.range(0, experts * tokens.rows())
                .map(i -> i % tokens.rows())
                .toArray();
        return layer.experts().apply(tokens, rows, RowGroups.ofSizes(sizes));
    }

    private static double[] ofThree(Matrix logits, Matrix outputs) {
        int tokens = logits.rows();
        double[] sums = new double[tokens * outputs.columns()];
        for (int t = 0; t < tokens; t++) {
            int token = t;
            List<Integer> best = IntStream.range(0, logits.columns())
                    .boxed()
                    .sorted(Comparator.comparingDouble(e -> -logits.get(token, e)))
                    .limit(3)
                    .toList();
            double powers = best.stream()
                    .mapToDouble(e -> Math.exp(logits.get(token, e)))
                    .sum();
            for (int e : best) {
                double weight = 3 * Math.exp(logits.get(t, e)) / powers;
                for (int d = 0; d < outputs.columns(); d++) {
                    sums[t * outputs.columns() + d] += weight * outputs.get(e * tokens + t, d);
                }
            }
        }
        return sums;
    }

    @ParameterizedTest
    @EnumSource(BudgetVariant.class)
    void theTimedPathsAreTheLayer(BudgetVariant variant) {
        try (MoeLayer layer = BudgetLayers.student(variant, EXACT, 5, 2);
                Matrix tokens = Initializer.normal(1).draw(EXACT, 40, 2 * BudgetLayers.HIDDEN, 6);
                Matrix expected = layer.apply(tokens);
                Matrix actual = PathTimes.run(layer, tokens, new PathTimes.Clock())) {
            assertThat(actual.toArray()).isEqualTo(expected.toArray());
        }
    }

    @Test
    void timesAreRatiosToTheLayerWithoutASharedExpert() {
        PathTimes times = PathTimes.measure(Nd4jBackend.float64());
        assertThat(times.times()).extracting(PathTimes.Times::variant).containsExactly(BudgetVariant.values());
        assertThat(times.times().get(0).total()).isCloseTo(1, within(1e-12));
        assertThat(times.table().aligned()).contains("indicative");
    }

    @Test
    void theRateStaysAndThenFallsToZero() {
        assertThat(BudgetRun.pace(0)).isEqualTo(1);
        assertThat(BudgetRun.pace(0.499)).isEqualTo(1);
        assertThat(BudgetRun.pace(0.75)).isCloseTo(0.5, within(1e-15));
        assertThat(BudgetRun.pace(1)).isCloseTo(0, within(1e-15));
    }
}
