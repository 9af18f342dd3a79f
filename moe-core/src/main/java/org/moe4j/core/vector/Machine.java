package org.moe4j.core.vector;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.moe4j.core.vector.tile.Shapes;

/** What a line of the log says about where it comes from. */
final class Machine {
    private static final Path LINUX = Path.of("/proc/cpuinfo");

    private Machine() {}

    /** CPU, vectors and JVM. */
    static String describe() {
        return cpu() + " with vectors of " + Shapes.FLOAT_PANEL / 2 * Float.SIZE + " bits, "
                + System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
    }

    private static String cpu() {
        String architecture = System.getProperty("os.arch");
        try (Stream<String> lines = Files.lines(LINUX, StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(architecture);
        } catch (IOException | RuntimeException elsewhere) {
            return architecture;
        }
    }
}
