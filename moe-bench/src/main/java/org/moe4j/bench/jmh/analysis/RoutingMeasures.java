package org.moe4j.bench.jmh.analysis;

import java.util.List;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.CoActivation;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.PassageUsage;
import org.moe4j.router.analysis.RoutingObserver;
import org.moe4j.router.analysis.cache.LfuSimulation;
import org.moe4j.router.analysis.cache.LruSimulation;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.DeviceSpread;

/** The measures of a routing that take one pass, by name, for a layer of OLMoE's shape: 8 of 64 experts. */
final class RoutingMeasures {
    static final int EXPERTS = 64;
    static final int TOP_K = 8;

    private static final int CACHED = 16;
    private static final List<Integer> DEVICES = List.of(2, 4, 8, 16);
    private static final List<String> NAMES =
            List.of("load", "halves", "collapse", "coactivation", "devices", "lru", "lfu");

    private RoutingMeasures() {}

    /** One measure, {@code all} of them, or none, which leaves what reading a block costs. */
    static List<RoutingObserver> named(String name, long tokens) {
        return switch (name) {
            case "load" -> List.of(new ExpertLoad.Counter(EXPERTS));
            case "halves" -> List.of(new PassageUsage.Counter(EXPERTS, tokens));
            case "collapse" -> List.of(new BatchCollapse.Counter(EXPERTS));
            case "coactivation" -> List.of(new CoActivation.Counter(EXPERTS));
            case "devices" ->
                DEVICES.stream()
                        .<RoutingObserver>map(n -> new DeviceSpread(DevicePlacement.contiguous(EXPERTS, n)))
                        .toList();
            case "lru" -> List.of(new LruSimulation(EXPERTS));
            case "lfu" -> List.of(new LfuSimulation(EXPERTS, CACHED, LfuSimulation.Counts.KEPT));
            case "all" ->
                NAMES.stream().flatMap(each -> named(each, tokens).stream()).toList();
            case "none" -> List.of();
            default ->
                throw new IllegalArgumentException(
                        "measure: expected all, none or one of " + NAMES + " but was " + name);
        };
    }
}
