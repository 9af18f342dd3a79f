package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.CapacityWords.Rows;
import org.moe4j.bench.layer.RouterWords.Weighing;

/** The random cases are what they are meant to be: the draw leaves none of the required kinds out. */
class LayerDrawTest {
    private final Map<String, Integer> seen = new HashMap<>();

    @Test
    void casesCoverWhatTheyShould() {
        int[] excluded = new int[1];
        for (long seed = 0; seed < LayerGradientTest.CASES; seed++) {
            LayerCase c = LayerDraw.of(seed, excluded);
            countLayer(c);
            countWeights(c.router());
            countSelection(c);
        }
        assertThat(seen)
                .hasSize(128)
                .allSatisfy((kind, number) -> assertThat(number).as(kind).isGreaterThanOrEqualTo(8));
        assertThat(excluded[0]).as("draws refused for being near a tie").isLessThan(LayerGradientTest.CASES);
    }

    private void countLayer(LayerCase c) {
        LayerCase.Sizes s = c.sizes();
        double[][] r = TokenwiseRoutes.of(c).weights();
        boolean idle = false;
        for (int e = 0; e < c.router().experts() && s.tokens() > 0; e++) {
            idle |= LayerChecks.idle("experts." + e, r);
        }
        count("T=0", s.tokens() == 0);
        count("T=1", s.tokens() == 1);
        count("K=1", c.router().topK() == 1);
        count("K=E", c.router().topK() == c.router().experts() && c.router().experts() > 1);
        count("expert without tokens", idle);
        count("D not a multiple of 8", s.hidden() % 8 != 0);
        count("F not a multiple of 8", s.width() % 8 != 0);
        count("capacity", c.capacity().isPresent());
        count("routed experts of " + c.routed().kind().activation(), true);
        count("routed experts with biases", c.routed().kind().biases());
        if (List.of("relu", "relu-squared", "clamped-swiglu")
                .contains(c.routed().kind().activation())) {
            count("numbers beyond a kink of " + c.routed().kind().activation(), TokenwiseLayer.beyondKinks(c));
        }
        if (!c.shared().widths().isEmpty()) {
            count("shared experts of " + c.shared().kind().activation(), true);
            count("shared experts with biases", c.shared().kind().biases());
        }
        count("latent experts", c.routed().latent().isPresent());
        count("weights on the " + c.routed().weightPlace(), true);
        count("choosing by " + c.router().choosing().rule(), true);
        Draws draws = c.training().draws();
        count("jittered router", draws.routerFactors().length > 0);
        if (c.training().noise().addsToLogits()) {
            count("noise " + c.training().noise().kind(), draws.logitNoise().length > 0);
        }
        count("second expert left out", Arrays.stream(draws.second()).anyMatch(second -> second < 0));
        count(
                "token without experts",
                TokenwiseRoutes.choices(c).stream().anyMatch(choice -> choice.experts().length == 0));
        count("jittered tokens", c.training().draws().tokenFactors().length > 0);
        count(
                "jitter in a call without a seed",
                c.training().noise().tokenEpsilon() > 0
                        && c.training().situation().noiseSeed().isEmpty());
        c.capacity().ifPresent(words -> countCapacity(c, words));
        c.training().losses().forEach(words -> count("loss " + words.formula(), true));
        count(
                "padding",
                !c.training().losses().isEmpty()
                        && !c.training().situation().padding().isEmpty());
        count("without shared expert", c.shared().widths().isEmpty());
        count("several shared experts", c.shared().widths().size() > 1);
        count(c.merge().toString(), true);
        count(
                "several gates",
                c.merge().convention().equals("sigmoid-gated")
                        && c.shared().widths().size() > 1);
    }

    private void countCapacity(LayerCase c, CapacityWords words) {
        Rows rows = words.rows();
        count("rows given", rows.fixed() > 0);
        count("rows rounded " + rows.rounding(), rows.fixed() == 0);
        count("share of " + rows.share(), rows.fixed() == 0);
        count("minimum", rows.minimum() > 0);
        count("multiple", rows.multipleOf() > 1);
        count("zero rows: " + rows.zeroRows(), rows.fixed() == 0 && rows.minimum() == 0);
        count("scope " + words.scope().replaceFirst("[0-9]+", "groups"), true);
        int tokens = c.sizes().tokens();
        double[][] kept = TokenwiseRoutes.of(c).weights();
        int assignments = TokenwiseRoutes.choices(c).stream()
                .mapToInt(each -> each.experts().length)
                .sum();
        long taken = Arrays.stream(kept)
                .flatMapToDouble(Arrays::stream)
                .filter(each -> each != 0)
                .count();
        count("drops by " + words.order(), taken < assignments);
        count("drops with weights " + words.keptWeights(), taken < assignments);
        long served = Arrays.stream(kept)
                .filter(token -> Arrays.stream(token).sum() != 0)
                .count();
        count("unserved tokens: " + words.unserved(), served < tokens);
    }

    private void countWeights(RouterWords router) {
        Weighing weighing = router.weighing();
        count("weights of sum 1", weighing.addsUpToOne());
        count("weights of another sum", !weighing.addsUpToOne());
        count(router.score(), true);
        count("score epsilon", router.scoreEpsilon() > 0);
        count("renormalization " + weighing.renormalization(), true);
        count("norm with p below 1", weighing.p() < 1);
        count("norm with p above 1", weighing.p() > 1);
        count("epsilon " + weighing.place(), weighing.epsilon() > 1e-3);
        count("epsilon too small to matter", weighing.epsilon() == 1e-20);
        count("scale", router.scale() != 1);
        count("logit bias", router.logitBias());
        count("selection bias", !router.selectionBias().isEmpty());
        count("both biases", router.logitBias() && !router.selectionBias().isEmpty());
        count("precision " + router.precision(), true);
    }

    private void countSelection(LayerCase c) {
        RouterWords router = c.router();
        boolean biasMatters = c.selectsOtherwise(router.withoutSelectionBias());
        count("selection bias that changes a selection", biasMatters);
        count("plain selection", router.groups().isEmpty());
        router.groups().filter(RouterWords.Groups::restrict).ifPresent(groups -> {
            count("group score " + groups.score().replaceFirst("[0-9]+", "m"), true);
            count("closed groups at " + groups.fill(), true);
            count("groups that change a selection", c.selectsOtherwise(router.withoutGroups()));
            count("groups with a selection bias", !router.selectionBias().isEmpty());
        });
    }

    private void count(String kind, boolean holds) {
        seen.merge(kind, holds ? 1 : 0, Integer::sum);
    }
}
