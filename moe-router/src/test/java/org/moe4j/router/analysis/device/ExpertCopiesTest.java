package org.moe4j.router.analysis.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ExpertCopiesTest {
    /** Two spare slots: one for 90, and one for its halves, which are still larger than 40. */
    @Test
    void theBusiestExpertsGetTheCopies() {
        ExpertCopies copies = ExpertCopies.greedy(new long[] {10, 90, 20, 40}, 3, 2);
        assertThat(copies.copies(1)).isEqualTo(3);
        assertThat(List.of(copies.copies(0), copies.copies(2), copies.copies(3)))
                .containsExactly(1, 1, 1);
        // 40 on device 0; 30, 30, 30 on 1, 2 and 0 (1 and 2 have one); 20 on 1; 10 on 2
        assertThat(copies.experts(0)).containsExactly(1, 3);
        assertThat(copies.experts(1)).containsExactly(1, 2);
        assertThat(copies.experts(2)).containsExactly(0, 1);
        assertThat(copies.load(0)).isEqualTo(70);
        assertThat(copies.load(1)).isEqualTo(50);
        assertThat(copies.load(2)).isEqualTo(40);
        assertThat(copies.imbalance()).isCloseTo(70 * 3 / 160.0, within(1e-15));
        assertThat(DevicePlacement.contiguous(4, 3).imbalance(new long[] {10, 90, 20, 40}))
                .isCloseTo(100 * 3 / 160.0, within(1e-15));
    }

    @ParameterizedTest
    @CsvSource({"1,64,8,9", "2,64,8,8", "3,256,32,9", "4,5,3,2", "5,1,4,1", "6,3,2,5"})
    void everyRuleHolds(long seed, int experts, int devices, int slots) {
        Random random = new Random(seed);
        long[] load = random.doubles(experts)
                .mapToLong(x -> (long) (1000 * x * x * x))
                .toArray();
        ExpertCopies copies = ExpertCopies.greedy(load, devices, slots);
        double[] deviceLoad = new double[devices];
        int[] found = new int[experts];
        double total = 0;
        for (int d = 0; d < devices; d++) {
            assertThat(copies.experts(d))
                    .hasSizeLessThanOrEqualTo(slots)
                    .isSorted()
                    .doesNotHaveDuplicates();
            for (int e : copies.experts(d)) {
                found[e]++;
                deviceLoad[d] += (double) load[e] / copies.copies(e);
            }
            assertThat(copies.load(d)).isCloseTo(deviceLoad[d], within(1e-9));
            total += deviceLoad[d];
        }
        int all = 0;
        double mostPerCopy = 0;
        for (int e = 0; e < experts; e++) {
            assertThat(found[e]).isEqualTo(copies.copies(e)).isBetween(1, devices);
            all += found[e];
            mostPerCopy = Math.max(mostPerCopy, (double) load[e] / found[e]);
        }
        assertThat(all).isEqualTo(Math.min(devices * slots, devices * experts));
        assertThat(total)
                .isCloseTo(java.util.Arrays.stream(load).asDoubleStream().sum(), within(1e-6));
        for (int e = 0; e < experts; e++) { // greedy: nobody's last copy was given while another was busier
            if (found[e] > 1) {
                double before = (double) load[e] / (found[e] - 1);
                for (int other = 0; other < experts; other++) {
                    assertThat(found[other] == devices || (double) load[other] / found[other] <= before)
                            .isTrue();
                }
            }
        }
        assertThat(copies.imbalance()).isGreaterThanOrEqualTo(mostPerCopy * devices / total - 1e-12);
    }

    /** Both steps by a search through all experts and all devices, many of which are equal. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void theChoicesAreThoseOfASearch(long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            int experts = 1 + random.nextInt(9);
            int devices = 1 + random.nextInt(6);
            int slots = (experts + devices - 1) / devices + random.nextInt(4);
            long[] load = random.longs(experts, 0, 5).toArray();
            int[] many = new int[experts];
            Arrays.fill(many, 1);
            for (int spare = devices * slots - experts; spare > 0; spare--) {
                int busiest = -1;
                for (int e = 0; e < experts; e++) {
                    if (many[e] < devices
                            && (busiest < 0 || (double) load[e] / many[e] > (double) load[busiest] / many[busiest])) {
                        busiest = e;
                    }
                }
                if (busiest >= 0) {
                    many[busiest]++;
                }
            }
            List<List<Integer>> held = new ArrayList<>();
            IntStream.range(0, devices).forEach(d -> held.add(new ArrayList<>()));
            double[] busy = new double[devices];
            IntStream.range(0, experts)
                    .boxed()
                    .sorted(Comparator.comparingDouble(e -> -(double) load[e] / many[e]))
                    .forEach(e -> {
                        for (int copy = 0; copy < many[e]; copy++) {
                            int device = IntStream.range(0, devices)
                                    .boxed()
                                    .filter(d -> held.get(d).size() < slots)
                                    .min(Comparator.comparing(
                                                    (Integer d) -> held.get(d).contains(e))
                                            .thenComparing(d -> busy[d]))
                                    .orElseThrow();
                            held.get(device).add(e);
                            busy[device] += (double) load[e] / many[e];
                        }
                    });
            ExpertCopies copies = ExpertCopies.greedy(load, devices, slots);
            for (int d = 0; d < devices; d++) {
                assertThat(copies.experts(d))
                        .containsExactlyElementsOf(held.get(d).stream().sorted().toList());
                assertThat(copies.load(d)).isEqualTo(busy[d]);
            }
        }
    }

    @Test
    @Timeout(60)
    void manyMoreDevicesThanExperts() {
        ExpertCopies copies = ExpertCopies.greedy(new long[] {3, 1}, 1 << 16, 2);
        assertThat(copies.copies(0)).isEqualTo(1 << 16);
        assertThat(copies.copies(1)).isEqualTo(1 << 16);
        assertThat(copies.imbalance()).isCloseTo(1, within(1e-9));
    }

    @Test
    void spareSlotsEvenOutASkewedLoad() {
        long[] load = new long[64];
        for (int e = 0; e < 64; e++) {
            load[e] = 10000 / (e + 1);
        }
        double without = DevicePlacement.contiguous(64, 8).imbalance(load);
        double with = ExpertCopies.greedy(load, 8, 9).imbalance();
        assertThat(without).isGreaterThan(4);
        assertThat(with).isLessThan(1.05);
    }

    @Test
    void oneExpertOnAllDevicesAndSlotsLeftEmpty() {
        ExpertCopies copies = ExpertCopies.greedy(new long[] {7}, 3, 2);
        assertThat(copies.copies(0)).isEqualTo(3);
        assertThat(copies.experts(2)).containsExactly(0);
        assertThat(copies.imbalance()).isCloseTo(1, within(1e-15));
    }

    @Test
    void withoutLoadTheFirstExpertsGetTheCopies() {
        ExpertCopies copies = ExpertCopies.greedy(new long[3], 2, 2);
        assertThat(copies.copies(0)).isEqualTo(2);
        assertThat(copies.imbalance()).isZero();
    }

    @Test
    void copiesGoToTheLeastLoadedDeviceFromTheLargestDown() {
        ExpertCopies copies = ExpertCopies.greedy(new long[] {100, 60, 60, 60, 60}, 2, 3);
        // 60 on 0, 60 on 1, 60 on 0, 60 on 1, 50 on 0, 50 on 1
        assertThat(copies.experts(0)).containsExactly(0, 1, 3);
        assertThat(copies.experts(1)).containsExactly(0, 2, 4);
    }

    @Test
    void badNumbersAreRefused() {
        assertThatThrownBy(() -> ExpertCopies.greedy(new long[] {1, 2, 3}, 2, 1))
                .hasMessage("slotsPerDevice: expected room for 3 experts on 2 devices but was 1");
        assertThatThrownBy(() -> ExpertCopies.greedy(new long[] {1}, 2, 0)).hasMessageContaining("slotsPerDevice");
        assertThatThrownBy(() -> ExpertCopies.greedy(new long[0], 2, 1)).hasMessageContaining("expertLoad.length");
        assertThatThrownBy(() -> ExpertCopies.greedy(new long[] {1}, 0, 1)).hasMessageContaining("devices");
        assertThatThrownBy(() -> ExpertCopies.greedy(new long[] {-1}, 1, 1)).hasMessageContaining("expertLoad[0]");
    }
}
