package org.moe4j.bench.jmh.loading;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.nio.file.Path;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Parameters;

/** Loads a layer and prints how much of the heap it took. */
final class LoadingProbe {
    private LoadingProbe() {}

    /**
     * Loads the first layer.
     *
     * @param arguments the folder
     * @throws IOException when it cannot be read
     */
    public static void main(String[] arguments) throws IOException {
        Nd4jBackend backend = Nd4jBackend.float32();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(Path.of(arguments[0]));
                MoeLayer layer = checkpoint.layer(0, backend);
                Parameters parameters = layer.parameters()) {
            long peak = ManagementFactory.getMemoryPoolMXBeans().stream()
                    .filter(pool -> pool.getType() == MemoryType.HEAP)
                    .map(MemoryPoolMXBean::getPeakUsage)
                    .mapToLong(usage -> usage.getUsed())
                    .sum();
            long weights = parameters.names().stream()
                    .filter(name -> !name.contains("ias"))
                    .mapToLong(name -> (long) parameters.get(name).rows()
                            * parameters.get(name).columns())
                    .sum();
            System.out.println("loaded " + weights + " weights, peak of the heap " + (peak >> 20) + " MiB");
        }
    }
}
