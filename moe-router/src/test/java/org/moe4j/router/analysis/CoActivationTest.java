package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class CoActivationTest {
    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void pairsAreThoseOfTheTokens(long seed) {
        DrawnRouting drawn = DrawnRouting.draw(seed);
        CoActivation together = CoActivation.of(drawn.source());

        assertThat(together.experts()).isEqualTo(drawn.experts());
        for (int i = 0; i < drawn.experts(); i++) {
            for (int j = 0; j < drawn.experts(); j++) {
                List<Integer> pair = List.of(i, j);
                long both = drawn.tokens().stream()
                        .filter(token -> token.containsAll(pair))
                        .count();
                assertThat(together.together(i, j)).isEqualTo(both);
                assertThat(together.share(i, j)).isEqualTo(drawn.count(i) == 0 ? 0 : (double) both / drawn.count(i));
            }
        }
        CoActivation inPieces =
                drawn.shownTo(new CoActivation.Counter(drawn.experts()), 3).result();
        assertThat(inPieces.together(0, drawn.experts() - 1)).isEqualTo(together.together(0, drawn.experts() - 1));
        assertThatThrownBy(() -> together.together(0, drawn.experts())).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void neighboursAreThePairsOfRanksNextToEachOther(long seed) {
        DrawnRouting drawn = DrawnRouting.draw(seed);
        int experts = drawn.experts();
        CoActivation neighbours = drawn.shownTo(new CoActivation.Counter(experts, CoActivation.Pairs.NEIGHBOURS), 100)
                .result();
        long[][] counted = new long[experts][experts];
        for (List<Integer> token : drawn.tokens()) {
            for (int rank = 0; rank < token.size(); rank++) {
                counted[token.get(rank)][token.get(rank)]++;
                if (rank > 0) {
                    counted[token.get(rank)][token.get(rank - 1)]++;
                    counted[token.get(rank - 1)][token.get(rank)]++;
                }
            }
        }
        for (int i = 0; i < experts; i++) {
            for (int j = 0; j < experts; j++) {
                assertThat(neighbours.together(i, j)).isEqualTo(counted[i][j]);
            }
        }
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void saturationIsTheMeanPartOfTheLaterExperts(long seed) {
        DrawnRouting later = DrawnRouting.draw(seed);
        Random random = new Random(seed);
        DrawnRouting earlier = DrawnRouting.draw(
                later.experts(), later.tokens().size(), 1 + random.nextInt(later.experts()), true, random);
        double sum = 0;
        int counted = 0;
        for (int t = 0; t < later.tokens().size(); t++) {
            Set<Integer> same = new HashSet<>(later.tokens().get(t));
            same.retainAll(earlier.tokens().get(t));
            int all = later.tokens().get(t).size();
            sum += all == 0 ? 0 : (double) same.size() / all;
            counted += all == 0 ? 0 : 1;
        }
        RouterSaturation saturation = RouterSaturation.of(earlier.source(), later.source());

        assertThat(saturation.tokens()).isEqualTo(counted);
        assertThat(saturation.saturation()).isEqualTo(counted == 0 ? 0 : sum / counted);
        assertThat(RouterSaturation.of(later.source(), later.source()).saturation())
                .isEqualTo(counted == 0 ? 0 : 1);
    }

    @Test
    void saturationNeedsTheSameTokens() {
        RoutingSource three = new DrawnRouting(2, List.of(List.of(0), List.of(1), List.of(0))).source();
        RoutingSource two = new DrawnRouting(2, List.of(List.of(0), List.of(1))).source();

        assertThatThrownBy(() -> RouterSaturation.of(two, three))
                .hasMessage("earlier: expected 3 tokens (of the later routing) but was 2");
        assertThatThrownBy(() ->
                        RouterSaturation.of(new DrawnRouting(3, List.of(List.of(0), List.of(1))).source(), two))
                .hasMessageContaining("experts (of the later routing)");
    }
}
