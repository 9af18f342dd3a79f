package org.moe4j.bench.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.moe4j.core.backend.Backends;

/** Calls of a small layer, of which every third fails half-way if asked; prints how much the process and its heap have grown. */
final class FlatProgram {
    private FlatProgram() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        int warmUp = Integer.parseInt(arguments[1]);
        int calls = Integer.parseInt(arguments[2]);
        boolean failing = arguments[3].equals("failing");
        try (LoadedLayer layer = LoadedLayer.on(
                Backends.named(arguments[0], Backends.Precision.FLOAT32), new LoadedLayer.Sizes(4, 32, 32, 4))) {
            int wrong = run(layer, 0, warmUp, failing);
            long heap = heap();
            long resident = residentBytes();
            wrong += run(layer, warmUp, warmUp + calls / 2, failing);
            heap();
            long half = residentBytes();
            wrong += run(layer, warmUp + calls / 2, warmUp + calls, failing);
            long heapGrown = heap() - heap;
            System.out.println("grew " + (half - resident) + " bytes, then " + (residentBytes() - half) + ", heap "
                    + heapGrown + ", wrong " + wrong);
        }
    }

    private static int run(LoadedLayer layer, int from, int to, boolean failing) {
        int wrong = 0;
        for (int call = from; call < to; call++) {
            boolean bad = failing && call % 3 == 0;
            boolean right = bad ? layer.fails() : layer.call(call);
            wrong += right ? 0 : 1;
        }
        return wrong;
    }

    /** Bytes in use after two collections. */
    private static long heap() throws InterruptedException {
        for (int i = 0; i < 2; i++) {
            System.gc();
            Thread.sleep(400);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static long residentBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IOException("/proc/self/status: expected a line VmRSS but found none");
    }
}
