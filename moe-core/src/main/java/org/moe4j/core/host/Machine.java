package org.moe4j.core.host;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

/** What a line of the log says about where it comes from. */
public final class Machine {
    private static final Path LINUX = Path.of("/proc/cpuinfo");

    private Machine() {}

    /**
     * The processor as its maker calls it, or its architecture where the system does not say.
     *
     * @return a name
     */
    public static String cpu() {
        return line("model name").orElse(System.getProperty("os.arch"));
    }

    /**
     * What the processor can do, in the words of the system.
     *
     * @return empty where the system does not say
     */
    public static List<String> abilities() {
        return line("flags").map(flags -> List.of(flags.split(" "))).orElse(List.of());
    }

    /** The first line of a processor's description that begins so. */
    private static Optional<String> line(String name) {
        try (Stream<String> lines = Files.lines(LINUX, StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> line.startsWith(name))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst();
        } catch (IOException | RuntimeException elsewhere) {
            return Optional.empty();
        }
    }

    /**
     * The Java virtual machine.
     *
     * @return its name and version
     */
    public static String jvm() {
        return System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
    }

    /**
     * This library.
     *
     * @return its name, and its version when it comes from a jar
     */
    public static String moe4j() {
        String version = Machine.class.getPackage().getImplementationVersion();
        return "MoE4J" + (version == null ? " from classes" : " " + version);
    }

    /**
     * The version of a library as its jar says.
     *
     * @param one a class of it
     * @param group of its coordinates
     * @param artifact of its coordinates
     * @return a version, or {@code unknown} when the jar does not say
     */
    public static String version(Class<?> one, String group, String artifact) {
        String name = "/META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        Properties properties = new Properties();
        try (InputStream in = one.getResourceAsStream(name)) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException | IllegalArgumentException unreadable) {
            return "unknown";
        }
        return properties.getProperty("version", "unknown");
    }
}
