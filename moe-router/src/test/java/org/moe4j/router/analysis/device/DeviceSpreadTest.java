package org.moe4j.router.analysis.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

class DeviceSpreadTest {
    private static DeviceSpread.Result spread(DevicePlacement placement, Routing routing) {
        return RoutingSource.of(routing).stream(new DeviceSpread(placement)).result();
    }

    /** Also with more than 64 devices, and in blocks. */
    @ParameterizedTest
    @CsvSource({
        "1,9000,64,8,4",
        "2,500,64,8,16",
        "3,300,100,5,70",
        "4,4097,3,3,2",
        "5,1,1,1,1",
        "6,0,8,2,4",
        "7,1,256,8,300"
    })
    void countsAreThoseOfSets(long seed, int tokens, int experts, int topK, int devices) {
        Random random = new Random(seed);
        DevicePlacement placement =
                DevicePlacement.of(devices, random.ints(experts, 0, devices).toArray());
        for (Routing routing : new Routing[] {
            Traces.fixed(random, tokens, experts, topK), Traces.varying(random, tokens, experts, topK)
        }) {
            DeviceSpread.Result result = spread(placement, routing);
            long[] load = new long[devices];
            long visits = 0;
            long needAll = 0;
            for (int t = 0; t < tokens; t++) {
                Set<Integer> reached = new HashSet<>();
                for (int rank = 0; rank < routing.count(t); rank++) {
                    int device = placement.device(routing.expert(t, rank));
                    reached.add(device);
                    load[device]++;
                }
                visits += reached.size();
                needAll += reached.size() == devices ? 1 : 0;
            }
            assertThat(result.tokens()).isEqualTo(tokens);
            assertThat(result.visits()).isEqualTo(visits);
            assertThat(result.assignments()).isEqualTo(routing.slots());
            assertThat(result.load().stream().mapToLong(l -> l).toArray()).isEqualTo(load);
            assertThat(result.tokensByDevices().stream().mapToLong(l -> l).sum())
                    .isEqualTo(tokens);
            if (tokens > 0) {
                assertThat(result.devicesPerToken()).isCloseTo((double) visits / tokens, within(1e-15));
                assertThat(result.shareNeedingAll()).isCloseTo((double) needAll / tokens, within(1e-15));
                assertThat(result.shareOfDevices()).isCloseTo((double) visits / tokens / devices, within(1e-15));
            }
        }
    }

    @Test
    void sixteenDevicesAreNeverMoreThanEightExpertsReach() {
        Routing routing = Traces.fixed(new Random(1), 2000, 64, 8);
        DeviceSpread.Result result = spread(DevicePlacement.contiguous(64, 16), routing);
        assertThat(result.tokensByDevices().subList(9, 17)).containsOnly(0L);
        assertThat(result.shareNeedingAll()).isZero();
        assertThat(result.devicesPerToken())
                .isCloseTo(DevicePlacement.contiguous(64, 16).expectedDevices(8), within(0.1)); // deviation 0.02
    }

    @Test
    void anEmptyTraceHasZeros() {
        DeviceSpread.Result result = new DeviceSpread(DevicePlacement.contiguous(4, 2)).result();
        assertThat(result.devicesPerToken()).isZero();
        assertThat(result.shareNeedingAll()).isZero();
        assertThat(result.busiestToEven()).isZero();
    }

    @Test
    void theBusiestDeviceIsComparedWithTheMean() {
        Routing routing = Routing.of(4, 2, new int[] {0, 1, 0, 2, 1, 0}, new double[6]);
        DeviceSpread.Result result = spread(DevicePlacement.contiguous(4, 2), routing);
        assertThat(result.load()).containsExactly(5L, 1L);
        assertThat(result.busiestToEven()).isCloseTo(5 / 3.0, within(1e-15));
        assertThat(result.tokensByDevices()).containsExactly(0L, 2L, 1L);
    }

    @Test
    void layersMayFollowEachOther() {
        DeviceSpread spread = new DeviceSpread(DevicePlacement.contiguous(4, 2));
        spread.add(ChosenExperts.of(4, 2, 1, new int[] {0, 1}));
        DeviceSpread.Result first = spread.result();
        spread.add(ChosenExperts.of(4, 2, 1, new int[] {0, 3}));
        assertThat(first.devicesPerToken()).isEqualTo(1);
        assertThat(spread.result().devicesPerToken()).isEqualTo(1.5);
    }

    @Test
    void anotherNumberOfExpertsIsRefused() {
        DeviceSpread spread = new DeviceSpread(DevicePlacement.contiguous(4, 2));
        ChosenExperts block = ChosenExperts.of(5, 1, 1, new int[] {0});
        assertThatThrownBy(() -> spread.add(block)).hasMessageContaining("block: expected 4 experts");
    }
}
