package org.moe4j.bench.study.reparameterization;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Line;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;

/** The study for a few steps; more of them, and what is written, in {@code ReparameterizationCommandTest}. */
final class ReparameterizationStudyTest {
    private static final ReparameterizationSettings FEW = new ReparameterizationSettings(20, 5, 32, 64);

    private static final AtomicInteger STEPS = new AtomicInteger();
    private static ReparameterizationResult result;

    @BeforeAll
    static void run() {
        result = ReparameterizationStudy.run(FEW, Nd4jBackend.float64(), STEPS::incrementAndGet);
    }

    @Test
    void allFollowsThatShouldAndNothingElse() {
        assertThat(result.shortfall()).isEmpty();
        assertThat(STEPS.get()).isEqualTo(FEW.progress()).isEqualTo(80);
    }

    /** Bits of other sums, the same claims. */
    @Test
    void theReferenceAgrees() {
        ReparameterizationResult exact = ReparameterizationStudy.run(FEW, ReferenceBackend.instance(), () -> {});
        assertThat(exact.shortfall()).isEmpty();
        for (int i = 0; i < exact.runs().size(); i++) {
            assertThat(result.runs().get(i).endLoss())
                    .isCloseTo(exact.runs().get(i).endLoss(), within(1e-9));
        }
    }

    @Test
    void theSameBitsAgain() {
        assertThat(ReparameterizationStudy.run(FEW, Nd4jBackend.float64(), () -> {})
                        .runs())
                .isEqualTo(result.runs());
    }

    /**
     * Quotients of the coefficients in Table 37 of the report, for K = 4, d_r = 8, d_s = 4 and d_act = 36: K/1, K/(1/2) and
     * K/(K·d_r/d_act) for routed experts, 1/1, 1/(1/2) and 1/(d_s/d_act) for the shared one.
     */
    @Test
    void theFactorsAreThoseOfTheConventions() {
        for (Run run : result.runs()) {
            for (Treatment treatment : run.descent().treatments()) {
                List<Line> lines = run.lines(treatment);
                assertThat(lines)
                        .extracting(Line::convention)
                        .containsExactly("routed-unit-sum", "equal-branch-mass", "width-proportional");
                assertThat(lines).extracting(Line::routed).containsExactly(4.0, 8.0, 4.5);
                assertThat(lines).extracting(Line::shared).containsExactly(1.0, 2.0, 9.0);
                assertThat(lines).extracting(Line::isExact).containsExactly(true, true, false);
            }
        }
    }

    /** Before the first step all are the same function; c·W is rounded once, W'/c once more. */
    @Test
    void allStartAsTheSameFunction() {
        for (Run run : result.runs()) {
            assertThat(run.lines()).allSatisfy(line -> {
                Point start = line.points().get(0);
                assertThat(start.step()).isEqualTo(line.treatment().startsHalfway() ? 10 : 0);
                assertThat(start.parameters()).isLessThanOrEqualTo(2 * 0x1p-53);
                // sums of K·F + d_s products, each with a few roundings
                assertThat(start.function()).isLessThanOrEqualTo(40 * 0x1p-53);
                assertThat(line.points().get(line.points().size() - 1).step()).isEqualTo(20);
            });
        }
    }

    /** There is something to follow: the original learns, and the one that clips does clip. */
    @Test
    void theOriginalsLearn() {
        assertThat(result.runs()).extracting(Run::descent).containsExactly(Descent.values());
        assertThat(result.runs()).allSatisfy(run -> {
            assertThat(run.endLoss()).isLessThan(0.8 * run.startLoss());
            assertThat(run.clipped()).isGreaterThan(0.5);
            assertThat(run.closest()).as("no call that rounding could decide").isGreaterThan(1e-9);
        });
    }
}
