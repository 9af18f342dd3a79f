package org.moe4j.bench.hostile;

import static org.moe4j.bench.hostile.Exemplars.N;

import java.util.stream.Stream;
import org.moe4j.merge.Presumption;
import org.moe4j.merge.rewrite.DownScale;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.CoActivation;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.cache.LfuSimulation;
import org.moe4j.router.analysis.cache.LruSimulation;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.DeviceSpread;
import org.moe4j.router.analysis.device.DeviceTraffic;

/** Counters and simulations for {@link Exemplars#N} experts, which take each other's blocks. */
final class AnalysisExemplars {
    private AnalysisExemplars() {}

    static void put(Shelf shelf) {
        DevicePlacement placement = DevicePlacement.contiguous(N, 2);
        Stream.of(
                        placement,
                        new ExpertLoad.Counter(N),
                        new BatchCollapse.Counter(N),
                        new CoActivation.Counter(N),
                        new LfuSimulation(N, 2, LfuSimulation.Counts.FORGOTTEN),
                        new LruSimulation(N),
                        new DeviceSpread(placement),
                        DeviceTraffic.toAnyDevice(placement),
                        LogitSource.of(N, new double[N * N]),
                        RouterConfig.topK(N, 2),
                        new DownScale(2),
                        new Presumption.OneBeside(2))
                .forEach(shelf::add);
    }
}
