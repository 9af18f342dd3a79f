package org.moe4j.bench.routing;

import java.util.List;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.PassageUsage;
import org.moe4j.router.analysis.cache.SimulatedCache;
import org.moe4j.router.analysis.device.DeviceSpread;

/**
 * What was counted of one passage in one layer.
 *
 * @param layer its name
 * @param usage load of the halves of the passage
 * @param load of the whole passage
 * @param batch what its blocks need
 * @param devices for each number of devices
 * @param caches for each number of slots
 */
record LayerMeasures(
        String layer,
        PassageUsage usage,
        ExpertLoad load,
        BatchCollapse batch,
        List<Spread> devices,
        List<Caches> caches) {
    /**
     * Over one number of devices.
     *
     * @param contiguous experts dealt out in blocks
     * @param strided expert e on device e mod N
     */
    record Spread(DeviceSpread.Result contiguous, DeviceSpread.Result strided) {}

    /**
     * Simulated caches of one size.
     *
     * @param lru evicts the least recently used
     * @param lfu evicts the least frequently used
     * @param best knows the future
     */
    record Caches(SimulatedCache lru, SimulatedCache lfu, SimulatedCache best) {}
}
