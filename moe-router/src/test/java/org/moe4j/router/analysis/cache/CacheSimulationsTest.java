package org.moe4j.router.analysis.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

class CacheSimulationsTest {
    /** One expert per token. */
    private static RoutingSource stream(int experts, int... requests) {
        return RoutingSource.of(Routing.of(experts, 1, requests, new double[requests.length]));
    }

    private static int[] random(Random random, int experts, int requests) {
        return IntStream.range(0, requests)
                .map(i -> (int) (experts * random.nextDouble() * random.nextDouble()))
                .toArray();
    }

    private static SimulatedCache lru(RoutingSource source, int slots) {
        return source.stream(new LruSimulation(source.experts())).result().with(slots);
    }

    private static SimulatedCache lfu(RoutingSource source, int slots, LfuSimulation.Counts counts) {
        return source.stream(new LfuSimulation(source.experts(), slots, counts)).result();
    }

    /** Hits of a list whose last is the most recent. */
    private static long naiveLru(int[] requests, int slots) {
        List<Integer> held = new ArrayList<>();
        long hits = 0;
        for (int expert : requests) {
            if (held.remove((Integer) expert)) {
                hits++;
            } else if (held.size() == slots) {
                held.remove(0);
            }
            held.add(expert);
        }
        return hits;
    }

    private static long naiveLfu(int[] requests, int slots, boolean kept) {
        Set<Integer> held = new TreeSet<>();
        Map<Integer, Long> count = new HashMap<>();
        Map<Integer, Integer> last = new HashMap<>();
        long hits = 0;
        for (int i = 0; i < requests.length; i++) {
            if (held.contains(requests[i])) {
                hits++;
            } else if (held.size() == slots) {
                int evicted = held.stream()
                        .min(Comparator.<Integer>comparingLong(count::get).thenComparing(last::get))
                        .orElseThrow();
                held.remove(evicted);
                if (!kept) {
                    count.remove(evicted);
                }
            }
            held.add(requests[i]);
            count.merge(requests[i], 1L, Long::sum);
            last.put(requests[i], i);
        }
        return hits;
    }

    /** The most hits of all ways to evict. */
    private static long mostHits(int[] requests, int at, Set<Integer> held, int slots, Map<String, Long> known) {
        if (at == requests.length) {
            return 0;
        }
        String state = at + " " + held;
        Long before = known.get(state);
        if (before != null) {
            return before;
        }
        long most = 0;
        if (held.contains(requests[at])) {
            most = 1 + mostHits(requests, at + 1, held, slots, known);
        } else {
            Set<Integer> more = new TreeSet<>(held);
            more.add(requests[at]);
            if (held.size() < slots) {
                most = mostHits(requests, at + 1, more, slots, known);
            } else {
                for (int evicted : held) {
                    Set<Integer> left = new TreeSet<>(more);
                    left.remove(evicted);
                    most = Math.max(most, mostHits(requests, at + 1, left, slots, known));
                }
            }
        }
        known.put(state, most);
        return most;
    }

    static IntStream seeds() {
        return IntStream.range(0, 40);
    }

    /** Addresses (i·stride) mod 16 through four slots: a toy pattern that shows reuse, and no more than that. */
    @ParameterizedTest
    @CsvSource({"1,0", "4,12"})
    void aRepeatedWorkingSetThatFitsHits(int stride, int hits) {
        int[] requests = IntStream.range(0, 16).map(i -> i * stride % 16).toArray();
        assertThat(lru(stream(16, requests), 4).hits()).isEqualTo(hits);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyPolicyHasTheHitsOfItsDefinition(int seed) {
        Random random = new Random(seed);
        int experts = 1 + random.nextInt(20);
        int[] requests = random(random, experts, random.nextInt(400));
        RoutingSource source = stream(experts, requests);
        long distinct = Arrays.stream(requests).distinct().count();
        SimulatedHits best = BeladySimulation.of(source);
        for (int slots = 1; slots <= experts + 2; slots++) {
            SimulatedCache lru = lru(source, slots);
            SimulatedCache kept = lfu(source, slots, LfuSimulation.Counts.KEPT);
            SimulatedCache forgotten = lfu(source, slots, LfuSimulation.Counts.FORGOTTEN);
            assertThat(lru.hits()).isEqualTo(naiveLru(requests, slots));
            assertThat(kept.hits()).isEqualTo(naiveLfu(requests, slots, true));
            assertThat(forgotten.hits()).isEqualTo(naiveLfu(requests, slots, false));
            for (SimulatedCache cache : List.of(lru, kept, forgotten, best.with(slots))) {
                assertThat(cache.slots()).isEqualTo(slots);
                assertThat(cache.requests()).isEqualTo(requests.length);
                assertThat(cache.compulsoryMisses()).isEqualTo(distinct);
                assertThat(cache.hits()).isBetween(0L, best.with(slots).hits());
                assertThat(cache.misses()).isGreaterThanOrEqualTo(distinct);
                if (slots >= experts) {
                    assertThat(cache.misses()).isEqualTo(distinct);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void nobodyHitsMoreThanBelady(int seed) {
        Random random = new Random(seed);
        int experts = 2 + random.nextInt(5);
        int[] requests = random(random, experts, 30);
        SimulatedHits best = BeladySimulation.of(stream(experts, requests));
        for (int slots = 1; slots < experts; slots++) {
            assertThat(best.with(slots).hits())
                    .isEqualTo(mostHits(requests, 0, new TreeSet<>(), slots, new HashMap<>()));
        }
    }

    /** Several blocks, in the last of which an expert is used that was not since the first; evictions as by a list of next uses. */
    @ParameterizedTest
    @CsvSource({"1,9001,12,3", "2,4096,5,2", "3,12289,40,8"})
    void blocksOfTokensWithSeveralExpertsAreOneStream(long seed, int tokens, int experts, int topK) {
        Random random = new Random(seed);
        int[] offsets = new int[tokens + 1];
        int[] chosen = new int[tokens * topK];
        for (int t = 0; t < tokens; t++) {
            int count = t == tokens - 1 ? 1 : random.nextInt(topK + 1);
            int[] drawn = t == tokens - 1
                    ? new int[] {experts - 1}
                    : random.ints(0, experts - (t == 0 ? 0 : 1))
                            .distinct()
                            .limit(count)
                            .toArray();
            System.arraycopy(drawn, 0, chosen, offsets[t], count);
            offsets[t + 1] = offsets[t] + count;
        }
        int[] requests = Arrays.copyOf(chosen, offsets[tokens]);
        RoutingSource source =
                RoutingSource.of(Routing.ofVarying(experts, offsets, requests, new double[requests.length]));
        SimulatedHits best = BeladySimulation.of(source);
        for (int slots : new int[] {1, 2, experts / 2, experts}) {
            assertThat(best.with(slots).hits()).isEqualTo(naiveBelady(requests, slots));
            assertThat(lru(source, slots).hits()).isEqualTo(naiveLru(requests, slots));
        }
    }

    private static long naiveBelady(int[] requests, int slots) {
        int[] next = new int[requests.length];
        Map<Integer, Integer> later = new HashMap<>();
        for (int i = requests.length - 1; i >= 0; i--) {
            next[i] = later.getOrDefault(requests[i], Integer.MAX_VALUE);
            later.put(requests[i], i);
        }
        Map<Integer, Integer> held = new HashMap<>();
        long hits = 0;
        for (int i = 0; i < requests.length; i++) {
            if (held.containsKey(requests[i])) {
                hits++;
            } else if (held.size() == slots) {
                held.remove(held.entrySet().stream()
                        .max(Map.Entry.comparingByValue())
                        .orElseThrow()
                        .getKey());
            }
            held.put(requests[i], next[i]);
        }
        return hits;
    }

    @Test
    void aTokenWithMoreExpertsThanSlotsEvictsItsOwn() {
        RoutingSource source = RoutingSource.of(Routing.of(3, 3, new int[] {0, 1, 2, 0, 1, 2}, new double[6]));
        assertThat(lru(source, 2).hits()).isZero();
        assertThat(BeladySimulation.of(source).with(2).hits()).isEqualTo(2); // keeps 0, then 1 or 2
    }

    @Test
    void layersShareACacheTokenByToken() {
        RoutingSource first = RoutingSource.of(Routing.of(2, 1, new int[] {0, 1, 0}, new double[3]));
        RoutingSource second =
                RoutingSource.of(Routing.ofVarying(3, new int[] {0, 2, 2, 3}, new int[] {2, 0, 1}, new double[3]));
        DecodingOrder both = DecodingOrder.of(List.of(first, second));
        assertThat(both.experts()).isEqualTo(5);
        assertThat(both.topK()).isEqualTo(3);
        assertThat(both.tokens()).isEqualTo(3);
        ChosenExperts block = both.block(0, 3);
        assertThat(block.expertsOf(0)).containsExactly(0, 4, 2);
        assertThat(block.expertsOf(1)).containsExactly(1);
        assertThat(block.expertsOf(2)).containsExactly(0, 3);
        assertThat(both.block(1, 2).expertsOf(1)).containsExactly(0, 3);
        assertThat(lru(both, 4).hits()).isEqualTo(naiveLru(new int[] {0, 4, 2, 1, 0, 3}, 4));
        assertThat(BeladySimulation.of(both).with(4).hits()).isEqualTo(1);
    }

    @Test
    void nothingRequestedNothingHit() {
        SimulatedCache cache = lru(stream(4), 2);
        assertThat(cache).isEqualTo(new SimulatedCache(2, 0, 0, 0));
        assertThat(cache.hitRate()).isZero();
        assertThat(BeladySimulation.of(stream(4)).with(1)).isEqualTo(new SimulatedCache(1, 0, 0, 0));
        assertThat(BeladySimulation.of(stream(4)).experts()).isEqualTo(4);
    }

    @Test
    void theRateIsOfAllRequests() {
        SimulatedCache one = lru(stream(1, 0, 0, 0), 1);
        assertThat(one.hitRate()).isCloseTo(2 / 3.0, within(1e-15));
        assertThat(one.misses()).isEqualTo(1);
    }

    @Test
    void badNumbersAreRefused() {
        SimulatedHits hits = new LruSimulation(4).result();
        assertThatThrownBy(() -> hits.with(0)).hasMessage("slots: expected at least 1 but was 0");
        assertThatThrownBy(() -> new LfuSimulation(4, 0, LfuSimulation.Counts.KEPT))
                .hasMessage("slots: expected at least 1 but was 0");
        assertThatThrownBy(() -> new LruSimulation(0)).hasMessageContaining("experts: expected");
        ChosenExperts five = ChosenExperts.of(5, 1, 1, new int[] {0});
        LruSimulation lru = new LruSimulation(4);
        assertThatThrownBy(() -> lru.add(five)).hasMessageContaining("block: expected 4 experts");
        LfuSimulation lfu = new LfuSimulation(4, 1, LfuSimulation.Counts.KEPT);
        assertThatThrownBy(() -> lfu.add(five)).hasMessageContaining("block: expected 4 experts");
        assertThatThrownBy(() -> DecodingOrder.of(List.of())).hasMessageContaining("layers.size");
        assertThatThrownBy(() -> DecodingOrder.of(List.of(stream(4, 1), stream(4))))
                .hasMessageContaining("layers: expected 1 tokens");
    }
}
