package org.moe4j.bench.load;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.ReflectionException;
import org.moe4j.core.backend.Backends;

/**
 * Calls of a small layer, of which every third fails half-way if asked; prints by how many bytes the process has grown in each of several equal
 * parts, and its heap in all of them.
 */
final class FlatProgram {
    private static final String TRIM = "systemTrimNativeHeap";

    private FlatProgram() {}

    public static void main(String[] arguments) throws IOException, InterruptedException, JMException {
        int warmUp = Integer.parseInt(arguments[1]);
        int calls = Integer.parseInt(arguments[2]);
        boolean failing = arguments[3].equals("failing");
        long[] grown = new long[Integer.parseInt(arguments[4])];
        try (LoadedLayer layer = LoadedLayer.on(
                Backends.named(arguments[0], Backends.Precision.FLOAT32), new LoadedLayer.Sizes(4, 32, 32, 4))) {
            int wrong = run(layer, 0, warmUp, failing);
            heap(); // loads what it needs itself
            long heap = heap();
            long resident = residentBytes();
            int at = warmUp;
            for (int part = 0; part < grown.length; part++) {
                wrong += run(layer, at, at + calls / grown.length, failing);
                at += calls / grown.length;
                heap();
                long now = residentBytes();
                grown[part] = now - resident;
                resident = now;
            }
            long heapGrown = heap() - heap;
            System.out.println("grew " + Arrays.toString(grown) + ", heap " + heapGrown + ", wrong " + wrong);
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

    /** Bytes in use after two collections; the C library gives back what is free in it, which would hide what is lost. */
    private static long heap() throws InterruptedException, JMException {
        for (int i = 0; i < 2; i++) {
            System.gc();
            Thread.sleep(100);
        }
        long used = Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
        try {
            ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            TRIM,
                            new Object[0],
                            new String[0]);
        } catch (ReflectionException olderJvm) { // before 17.0.9: less is seen
            System.out.println("no " + TRIM);
        }
        return used;
    }

    /** Counted page by page; the sum in {@code status} lags behind by what each CPU has not reported. */
    private static long residentBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/smaps_rollup"))) {
            if (line.startsWith("Rss:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IOException("/proc/self/smaps_rollup: expected a line Rss but found none");
    }
}
