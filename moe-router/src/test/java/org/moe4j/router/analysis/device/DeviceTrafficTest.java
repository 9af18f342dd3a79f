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
import org.moe4j.router.analysis.device.DeviceTraffic.Sending;

class DeviceTrafficTest {
    @ParameterizedTest
    @CsvSource({"1,5000,64,8,4", "2,100,10,3,7", "3,1,1,1,1", "4,0,4,2,2"})
    void vectorsAreThoseOfSets(long seed, int tokens, int experts, int topK, int devices) {
        Random random = new Random(seed);
        DevicePlacement placement = DevicePlacement.strided(experts, devices);
        Routing routing = Traces.varying(random, tokens, experts, topK);
        DeviceTraffic.Result any = RoutingSource.of(routing).stream(DeviceTraffic.toAnyDevice(placement))
                .result();
        DeviceTraffic.Result other = RoutingSource.of(routing).stream(
                        DeviceTraffic.toOtherDevices(placement, t -> (int) (t % devices)))
                .result();
        long[] expected = new long[4];
        for (int t = 0; t < tokens; t++) {
            Set<Integer> all = new HashSet<>();
            for (int rank = 0; rank < routing.count(t); rank++) {
                int device = placement.device(routing.expert(t, rank));
                all.add(device);
                expected[0]++;
                expected[2] += device == t % devices ? 0 : 1;
            }
            expected[1] += all.size();
            all.remove(t % devices);
            expected[3] += all.size();
        }
        assertThat(any).isEqualTo(new DeviceTraffic.Result(devices, tokens, expected[0], expected[1]));
        assertThat(other).isEqualTo(new DeviceTraffic.Result(devices, tokens, expected[2], expected[3]));
    }

    @Test
    void bytesAreVectorsTimesTheirSize() {
        DeviceTraffic traffic = DeviceTraffic.toOtherDevices(DevicePlacement.contiguous(4, 2), t -> 0);
        traffic.add(ChosenExperts.of(4, 3, 2, new int[] {0, 2, 3, 3, 1, 0}));
        DeviceTraffic.Result result = traffic.result();
        assertThat(result.bytesEachWay(Sending.PER_ASSIGNMENT, 2048, 2)).isEqualTo(3 * 2048 * 2.0);
        assertThat(result.bytesEachWay(Sending.PER_DEVICE, 2048, 2)).isEqualTo(2 * 2048 * 2.0);
        assertThat(result.bytesEachWay(Sending.PER_DEVICE, 2048, 0.5)).isEqualTo(2 * 1024.0);
    }

    /** A ring is run: N − 1 steps of adding and N − 1 of copying, in each of which every device sends a part of T·D/N numbers. */
    @ParameterizedTest
    @CsvSource({"1,10", "2,10", "8,356"})
    void allReduceSendsWhatARingSends(int devices, long tokens) {
        double expected = 0;
        for (int step = 0; step < 2 * (devices - 1); step++) {
            for (int d = 0; d < devices; d++) {
                expected += tokens * 2048 / (double) devices * 2;
            }
        }
        DeviceTraffic.Result result = new DeviceTraffic.Result(devices, tokens, 0, 0);
        assertThat(result.allReduceBytes(2048, 2)).isCloseTo(expected, within(1e-6));
    }

    @Test
    void badNumbersAreRefused() {
        DevicePlacement placement = DevicePlacement.contiguous(4, 2);
        DeviceTraffic traffic = DeviceTraffic.toOtherDevices(placement, t -> 2);
        ChosenExperts block = ChosenExperts.of(4, 1, 1, new int[] {0});
        assertThatThrownBy(() -> traffic.add(block)).hasMessage("home: expected 0..1 (devices) but was 2");
        ChosenExperts five = ChosenExperts.of(5, 1, 1, new int[] {0});
        assertThatThrownBy(() -> traffic.add(five)).hasMessageContaining("block: expected 4 experts");
        DeviceTraffic.Result result = traffic.result();
        assertThatThrownBy(() -> result.allReduceBytes(0, 2)).hasMessageContaining("hiddenSize: expected");
        assertThatThrownBy(() -> result.bytesEachWay(Sending.PER_DEVICE, 1, Double.NaN))
                .hasMessageContaining("bytesPerNumber: expected");
    }
}
