package org.moe4j.bench.study.collapse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;

/** The study for a few steps; what it shows in the end is shown by {@code SharedCollapseCommandTest}. */
final class CollapseStudyTest {
    private static final CollapseSettings FEW = new CollapseSettings(
            List.of(new FunctionSize("small", 5, 7, 20, List.of(List.of(4, 2, 1)), true)), 20, 5, 64);

    private static final Backend EXACT = ReferenceBackend.instance();

    private static CollapseResult exact;

    @BeforeAll
    static void runOnTheReference() {
        exact = run(EXACT);
    }

    private static CollapseResult run(Backend backend) {
        return CollapseStudy.run(FEW, List.of(backend), backend, () -> {});
    }

    @Test
    void theSameBitsAgainForAnyNumberOfWorkers() {
        AtomicInteger measurements = new AtomicInteger();
        Backend alone = Nd4jBackend.float64().withWorkers(1);
        CollapseResult one = CollapseStudy.run(FEW, List.of(alone), alone, measurements::incrementAndGet);
        assertThat(measurements.get())
                .isEqualTo(CollapseStudy.measurements(FEW, 1))
                .isEqualTo(1 + 10);
        CollapseResult three = run(Nd4jBackend.float64().withWorkers(3));
        assertThat(three.functions()).isEqualTo(one.functions());
        assertThat(three.trajectories()).isEqualTo(one.trajectories());
    }

    /** Rounding is each backend's own; what is no rounding is the same. */
    @Test
    void theReferenceAgrees() {
        CollapseResult fast = run(Nd4jBackend.float64());
        for (int i = 0; i < exact.functions().size(); i++) {
            FunctionRow expected = exact.functions().get(i);
            FunctionRow actual = fast.functions().get(i);
            assertThat(actual.norm()).isCloseTo(expected.norm(), within(1e-12));
            assertThat(actual.difference()).isCloseTo(expected.difference(), within(1e-12));
            assertThat(actual.residual().isPresent())
                    .isEqualTo(expected.residual().isPresent());
            assertThat(actual.residual().orElse(0))
                    .isCloseTo(expected.residual().orElse(0), within(1e-9));
        }
        for (int i = 0; i < exact.trajectories().size(); i++) {
            Trajectory expected = exact.trajectories().get(i);
            Trajectory actual = fast.trajectories().get(i);
            assertThat(actual.startLoss()).isCloseTo(expected.startLoss(), within(1e-12));
            assertThat(actual.partsLoss()).isCloseTo(expected.partsLoss(), within(1e-8));
            assertThat(actual.end()).isCloseTo(expected.end(), within(1e-8));
        }
    }

    /** Already after 20 steps; twelve digits lie between the two kinds. */
    @Test
    void formsThatTrainAlikeStayTogetherAndTheOthersPart() {
        for (Trajectory trajectory : exact.trajectories()) {
            String name = trajectory.training().text();
            assertThat(trajectory.points().get(0).deviation()).as(name).isLessThan(1e-14);
            if (trajectory.training().alike()) {
                assertThat(trajectory.largest()).as(name).isLessThan(1e-13);
                assertThat(trajectory.wideLoss()).as(name).isCloseTo(trajectory.partsLoss(), within(1e-12));
            } else {
                assertThat(trajectory.end()).as(name).isGreaterThan(1e-3);
            }
        }
    }

    /** The parts learn the same whether the wide form joins them at the start or later. */
    @Test
    void joiningLaterChangesNothingForTheParts() {
        List<Trajectory> all = exact.trajectories();
        assertThat(of(all, TrainingCase.ADAMW_JOINED).partsLoss())
                .isEqualTo(of(all, TrainingCase.ADAMW).partsLoss());
        assertThat(of(all, TrainingCase.ADAMW_STATE_LOST).partsLoss())
                .isEqualTo(of(all, TrainingCase.ADAMW).partsLoss());
        assertThat(of(all, TrainingCase.ADAMW_JOINED).points().get(0).step()).isEqualTo(10);
        assertThat(of(all, TrainingCase.ADAMW_CLIPPED).partsLoss())
                .as("the norm is clipped")
                .isNotEqualTo(of(all, TrainingCase.ADAMW).partsLoss());
    }

    private static Trajectory of(List<Trajectory> all, TrainingCase training) {
        return all.stream()
                .filter(trajectory -> trajectory.training() == training)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void everybodyLearns() {
        assertThat(exact.trajectories()).allSatisfy(trajectory -> {
            assertThat(trajectory.partsLoss()).isLessThan(0.9 * trajectory.startLoss());
            assertThat(trajectory.wideLoss()).isLessThan(0.9 * trajectory.startLoss());
        });
    }

    @Test
    void gradientsOfThePartsAreSlices() {
        Comparison row = GradientRun.run(EXACT);
        assertThat(row.norm()).isGreaterThan(1);
        assertThat(row.relative()).isLessThan(1e-14);
    }

    @Test
    void routedExpertsSplitWithInheritedRowsAreTheSame() {
        assertThat(RoutedRun.run(EXACT)).hasSize(4).allSatisfy(row -> {
            if (row.about().endsWith("inherited")) {
                assertThat(row.relative()).as(row.about()).isLessThan(1e-14);
            } else {
                assertThat(row.relative()).as(row.about()).isGreaterThan(0.1);
            }
        });
    }
}
