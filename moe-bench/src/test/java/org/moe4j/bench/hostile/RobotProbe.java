package org.moe4j.bench.hostile;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.vector.VectorBackend;

/** The robot in a JVM of its own. */
final class RobotProbe {
    private static final int LIMIT = 20;

    private RobotProbe() {}

    /**
     * Runs it on each backend.
     *
     * @param arguments where to report, an empty folder, a seed, hostile calls on a backend, names of backends
     * @throws IOException when it cannot be written
     */
    public static void main(String[] arguments) throws IOException {
        Findings findings = new Findings(Path.of(arguments[0]), LIMIT);
        SplittableRandom random = new SplittableRandom(Long.parseLong(arguments[2]));
        int calls = Integer.parseInt(arguments[3]);
        List<String> names = List.of(arguments).subList(4, arguments.length);
        for (String name : names) {
            Path sandbox = Files.createTempDirectory(Path.of(arguments[1]), name);
            Backend backend = backend(name);
            Backend other = backend instanceof ReferenceBackend ? VectorBackend.float64() : ReferenceBackend.instance();
            Robot robot = new Robot(backend, other, sandbox, random, findings);
            robot.learn();
            if (name.equals(names.get(names.size() - 1))) {
                robot.persist();
            }
            robot.attack(calls);
            robot.close(calls / 10);
        }
        findings.write();
    }

    private static Backend backend(String name) {
        return switch (name) {
            case "vector32" -> VectorBackend.float32();
            case "vector64" -> VectorBackend.float64();
            case "nd4j32" -> Nd4jBackend.float32();
            case "nd4j64" -> Nd4jBackend.float64();
            default -> ReferenceBackend.instance();
        };
    }
}
