package org.moe4j.router.analysis.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.GroupScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.analysis.RoutingSource;

class DevicePlacementTest {
    private static int[] devices(DevicePlacement placement) {
        return IntStream.range(0, placement.experts()).map(placement::device).toArray();
    }

    @Test
    void blocksAreThoseOfTheArticle() {
        DevicePlacement four = DevicePlacement.contiguous(64, 4);
        assertThat(four.device(0)).isEqualTo(0);
        assertThat(four.device(15)).isEqualTo(0);
        assertThat(four.device(16)).isEqualTo(1);
        assertThat(four.device(31)).isEqualTo(1);
        assertThat(four.device(63)).isEqualTo(3);
        assertThat(four.expertsOn(2)).isEqualTo(16);
    }

    @Test
    void theFirstDevicesHaveOneMoreWhereTheNumbersDoNotDivide() {
        assertThat(devices(DevicePlacement.contiguous(7, 3))).containsExactly(0, 0, 0, 1, 1, 2, 2);
        assertThat(devices(DevicePlacement.contiguous(8, 3))).containsExactly(0, 0, 0, 1, 1, 1, 2, 2);
        assertThat(devices(DevicePlacement.strided(7, 3))).containsExactly(0, 1, 2, 0, 1, 2, 0);
    }

    @Test
    void devicesMayBeMoreThanExperts() {
        DevicePlacement placement = DevicePlacement.contiguous(2, 5);
        assertThat(devices(placement)).containsExactly(0, 1);
        assertThat(placement.devices()).isEqualTo(5);
        assertThat(placement.expertsOn(4)).isZero();
        assertThat(placement.expectedDevices(2)).isEqualTo(2);
        assertThat(placement.mostDevices(RouterConfig.topK(2, 2))).isEqualTo(2);
    }

    @Test
    void loadsOfDevicesAreSumsOfTheirExperts() {
        DevicePlacement placement = DevicePlacement.of(3, new int[] {2, 0, 2, 0});
        assertThat(placement.load(new long[] {1, 20, 300, 4000})).containsExactly(4020, 0, 301);
        assertThat(placement.imbalance(new long[] {1, 20, 300, 4000})).isCloseTo(4020 * 3.0 / 4321, within(1e-15));
        assertThat(placement.imbalance(new long[4])).isZero();
        assertThat(DevicePlacement.contiguous(4, 2).imbalance(new long[] {5, 1, 2, 4}))
                .isEqualTo(1);
    }

    /** The closed form in exact arithmetic. */
    @ParameterizedTest
    @CsvSource({"64,8,16", "64,8,4", "64,1,5", "7,3,3", "8,8,4", "8,0,4", "1,1,1", "256,8,320", "2000,3,2"})
    void expectationIsTheHypergeometricOne(int experts, int topK, int devices) {
        DevicePlacement placement = DevicePlacement.contiguous(experts, devices);
        BigDecimal sum = BigDecimal.ZERO;
        for (int d = 0; d < devices; d++) {
            BigDecimal miss = new BigDecimal(choose(experts - placement.expertsOn(d), topK))
                    .divide(new BigDecimal(choose(experts, topK)), MathContext.DECIMAL128);
            sum = sum.add(BigDecimal.ONE.subtract(miss));
        }
        assertThat(placement.expectedDevices(topK)).isCloseTo(sum.doubleValue(), within(1e-13 * devices));
    }

    private static BigInteger choose(int n, int k) {
        if (k > n) {
            return BigInteger.ZERO;
        }
        BigInteger result = BigInteger.ONE;
        for (int i = 0; i < k; i++) {
            result = result.multiply(BigInteger.valueOf(n - i)).divide(BigInteger.valueOf(i + 1));
        }
        return result;
    }

    @Test
    void expectationIsTheMeanOverAllChoices() {
        DevicePlacement placement = DevicePlacement.of(3, new int[] {0, 0, 0, 1, 2, 2});
        double sum = 0;
        int choices = 0;
        for (int a = 0; a < 6; a++) {
            for (int b = a + 1; b < 6; b++) {
                for (int c = b + 1; c < 6; c++) {
                    sum += IntStream.of(a, b, c)
                            .map(placement::device)
                            .distinct()
                            .count();
                    choices++;
                }
            }
        }
        assertThat(placement.expectedDevices(3)).isCloseTo(sum / choices, within(1e-14));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void keptGroupsCapTheDevicesOfEveryToken(long seed) {
        RouterConfig config = RouterConfig.topK(64, 8)
                .withScore(new ScoreFunction.Sigmoid(0))
                .withRenormalization(new Renormalization.None())
                .withSelection(new ExpertSelection.GroupLimited(8, 4, new GroupScore.SumOfBest(2)));
        double[] logits = new Random(seed).doubles(500 * 64, -4, 4).toArray();
        Routing limited = config.routing(logits);
        Routing free = config.withSelection(new ExpertSelection.PlainTopK()).routing(logits);
        DevicePlacement groups = DevicePlacement.contiguous(64, 8);
        DevicePlacement halfGroups = DevicePlacement.contiguous(64, 16);
        DevicePlacement scattered = DevicePlacement.strided(64, 8);
        assertThat(groups.mostDevices(config)).isEqualTo(4);
        assertThat(halfGroups.mostDevices(config)).isEqualTo(8);
        assertThat(scattered.mostDevices(config)).isEqualTo(8);
        assertThat(DevicePlacement.contiguous(64, 4).mostDevices(config)).isEqualTo(4);
        assertThat(most(groups, limited)).isEqualTo(4);
        assertThat(most(halfGroups, limited)).isBetween(5, 8);
        assertThat(most(groups, free)).isGreaterThan(4);
    }

    private static int most(DevicePlacement placement, Routing routing) {
        DeviceSpread.Result spread =
                RoutingSource.of(routing).stream(new DeviceSpread(placement)).result();
        int most = 0;
        for (int n = 0; n <= spread.devices(); n++) {
            most = spread.tokensByDevices().get(n) > 0 ? n : most;
        }
        return most;
    }

    @Test
    void unevenGroupsAreCappedByTheLargest() {
        DevicePlacement placement = DevicePlacement.of(5, new int[] {0, 0, 1, 2, 3, 3, 4, 0});
        RouterConfig config =
                RouterConfig.topK(8, 4).withSelection(new ExpertSelection.GroupLimited(4, 2, new GroupScore.Max()));
        assertThat(placement.mostDevices(config)).isEqualTo(4); // groups on 1, 2, 1 and 2 devices
    }

    @Test
    void closedGroupsAtZeroAndExpertChoiceCapNothing() {
        DevicePlacement placement = DevicePlacement.contiguous(8, 8);
        ExpertSelection zero =
                new ExpertSelection.GroupLimited(4, 1, new GroupScore.Max(), ExpertSelection.ClosedGroups.ZERO);
        assertThat(placement.mostDevices(RouterConfig.topK(8, 2).withSelection(zero)))
                .isEqualTo(2);
        ExpertSelection experts = new ExpertSelection.ExpertChoice(RowLimit.factor(1.0), CapacityScope.batch());
        assertThat(placement.mostDevices(RouterConfig.topK(8, 2).withSelection(experts)))
                .isEqualTo(8);
        ExpertSelection replay = new ExpertSelection.Recorded(
                Routing.ofVarying(8, new int[] {0, 3, 4}, new int[] {1, 4, 6, 0}, new double[4]));
        assertThat(placement.mostDevices(RouterConfig.topK(8, 2).withSelection(replay)))
                .isEqualTo(8);
    }

    @Test
    void badPlacementsAreRefused() {
        assertThatThrownBy(() -> DevicePlacement.contiguous(0, 1)).hasMessageContaining("experts: expected");
        assertThatThrownBy(() -> DevicePlacement.strided(1, 0)).hasMessageContaining("devices: expected");
        assertThatThrownBy(() -> DevicePlacement.of(2, new int[] {0, 2}))
                .hasMessage("deviceOf[1]: expected 0..1 (devices) but was 2");
        DevicePlacement placement = DevicePlacement.contiguous(4, 2);
        assertThatThrownBy(() -> placement.load(new long[3])).hasMessageContaining("expertLoad: expected 4");
        assertThatThrownBy(() -> placement.load(new long[] {0, -1, 0, 0}))
                .hasMessage("expertLoad[1]: expected at least 0 but was -1");
        assertThatThrownBy(() -> placement.expectedDevices(5)).hasMessageContaining("topK: expected 0..4");
        assertThatThrownBy(() -> placement.mostDevices(RouterConfig.topK(8, 2)))
                .hasMessageContaining("config: expected 4");
        assertThat(placement).hasToString("DevicePlacement[4 experts, 2 devices]");
        int[] own = {0, 1};
        DevicePlacement copied = DevicePlacement.of(2, own);
        Arrays.fill(own, 0);
        assertThat(copied.device(1)).isEqualTo(1);
    }
}
