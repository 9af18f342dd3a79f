package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.Router;
import org.moe4j.core.reference.ReferenceBackend;

class ScaledMergeFitTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private final Experts routed = bank(48, 3, 8);
    private final Experts shared = bank(1, 3, 4);
    private final ActiveWidths widths = new ActiveWidths(4, 8, 4);

    private Experts bank(int count, int hidden, int width) {
        return SwiGluExperts.random(new ExpertShape(count, hidden, width), BACKEND, 1);
    }

    private void check(ScaledMerge merge, Router router) {
        merge.requireFits(router, routed, List.of(shared));
    }

    @Test
    void unitSumRoutersOfTheRightWidthsFit() {
        for (ScaledMerge merge : List.of(
                ScaledMerge.olmo(widths),
                ScaledMerge.routedUnitSum(widths),
                ScaledMerge.equalBranchMass(widths),
                ScaledMerge.widthProportional(widths))) {
            assertThatCode(() -> check(merge, PlainRouter.unit(4))).doesNotThrowAnyException();
        }
        assertThatCode(() ->
                        ScaledMerge.olmo(new ActiveWidths(4, 8, 0)).requireFits(PlainRouter.unit(4), routed, List.of()))
                .doesNotThrowAnyException();
        assertThatCode(() -> ScaledMerge.olmo(new ActiveWidths(4, 8, 8))
                        .requireFits(PlainRouter.unit(4), routed, List.of(shared, shared)))
                .doesNotThrowAnyException();
    }

    @Test
    void sumAndScaledTakeAnyRouter() {
        PlainRouter any = new PlainRouter(48, 7, false, 2.5);
        assertThatCode(() -> check(ScaledMerge.sum(), any)).doesNotThrowAnyException();
        assertThatCode(() -> check(ScaledMerge.scaled(2, 3), any)).doesNotThrowAnyException();
    }

    @Test
    void theActiveMeanTakesAnyRenormalisationOfItsTopK() {
        ScaledMerge mean = ScaledMerge.activeMean(4);
        assertThatCode(() -> check(mean, PlainRouter.unit(4))).doesNotThrowAnyException();
        assertThatCode(() -> check(mean, new PlainRouter(48, 4, false, 1))).doesNotThrowAnyException();
        assertThatCode(() -> mean.requireFits(PlainRouter.unit(4), bank(48, 3, 99), List.of(bank(1, 3, 7))))
                .doesNotThrowAnyException();
    }

    @Test
    void theActiveMeanRefusesWhatIsNoMeanOverItsExperts() {
        ScaledMerge mean = ScaledMerge.activeMean(4);
        assertThatThrownBy(() -> check(mean, PlainRouter.unit(8)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("router: expected router.topK = 4 (that of merge.convention = active-mean) but was 8;"
                        + " make the convention for the router's topK");
        assertThatThrownBy(() -> check(mean, new PlainRouter(48, 4, false, 2.5)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("router: expected router.scale = 1 (merge.convention = active-mean sets the routed factor"
                        + " 0.8) but was 2.5; set router.scale = 1, or choose merge.convention = sum");
        for (List<Experts> wrong : List.of(List.<Experts>of(), List.of(shared, shared))) {
            assertThatThrownBy(() -> mean.requireFits(PlainRouter.unit(4), routed, wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("shared: expected 1 shared expert (merge.convention = active-mean with"
                            + " router.topK = 4) but was " + wrong.size());
        }
    }

    static Stream<ScaledMerge> table37() {
        return ScaledMergeTest.table37();
    }

    @ParameterizedTest
    @MethodSource("table37")
    void aRouterWithoutUnitSumIsRefused(ScaledMerge merge) {
        assertThatThrownBy(() -> check(merge, new PlainRouter(48, 4, false, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("router: expected weights that sum to 1 (merge.convention = " + merge.name()
                        + ") but was one whose weights may sum to something else;"
                        + " set router.renormalization = sum without epsilon, or choose merge.convention = sum");
    }

    @ParameterizedTest
    @MethodSource("table37")
    void aFactorHasOneHome(ScaledMerge merge) {
        assertThatThrownBy(() -> check(merge, new PlainRouter(48, 4, true, 2.5)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("router: expected router.scale = 1 (merge.convention = " + merge.name()
                        + " sets the routed factor " + merge.routedScale() + ") but was 2.5;"
                        + " set router.scale = 1, or choose merge.convention = sum");
    }

    @Test
    void otherWidthsAreRefused() {
        String hint = "; make the convention from ActiveWidths.of(router, routed, shared)";
        String mine =
                "widths: expected ActiveWidths[topK=4, routedWidth=8, sharedWidth=4] (merge.convention = olmo) but was ";
        ScaledMerge olmo = ScaledMerge.olmo(widths);
        assertThatThrownBy(() -> check(olmo, PlainRouter.unit(8)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(mine + "ActiveWidths[topK=8, routedWidth=8, sharedWidth=4]" + hint);
        assertThatThrownBy(() -> olmo.requireFits(PlainRouter.unit(4), bank(48, 3, 9), List.of(shared)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(mine + "ActiveWidths[topK=4, routedWidth=9, sharedWidth=4]" + hint);
        assertThatThrownBy(() -> olmo.requireFits(PlainRouter.unit(4), routed, List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(mine + "ActiveWidths[topK=4, routedWidth=8, sharedWidth=0]" + hint);
    }

    @Test
    void aRuleCanBeMadeForOtherWidths() {
        ActiveWidths other = new ActiveWidths(12, 3, 9);
        assertThat(ScaledMerge.olmo(widths).forWidths(other)).isEqualTo(ScaledMerge.olmo(other));
        assertThat(ScaledMerge.routedUnitSum(widths).forWidths(other)).isEqualTo(ScaledMerge.routedUnitSum(other));
        assertThat(ScaledMerge.equalBranchMass(widths).forWidths(other)).isEqualTo(ScaledMerge.equalBranchMass(other));
        assertThat(ScaledMerge.widthProportional(widths).forWidths(other))
                .isEqualTo(ScaledMerge.widthProportional(other));
        assertThat(ScaledMerge.activeMean(4).forWidths(other)).isEqualTo(ScaledMerge.activeMean(12));
        assertThat(ScaledMerge.sum().forWidths(other)).isEqualTo(ScaledMerge.sum());
        ScaledMerge fixed = ScaledMerge.scaled(2, 3);
        assertThat(fixed.forWidths(other)).isEqualTo(fixed);
        ScaledMerge own = new ScaledMerge("olmo", 3, 1, new Presumption.UnitSum(widths));
        assertThatThrownBy(() -> own.forWidths(other))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("convention: expected one of this class, made anew for " + other + " but was " + own);
    }
}
