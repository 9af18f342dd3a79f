package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Tests compare with a tolerance through few checkers, each of which has a test that it finds an error just above its limit and a
 * NaN: those of {@code Tolerance} and {@code FiniteDifferences}, and AssertJ's. An absolute difference that is written out
 * elsewhere is one of these, and no more than these.
 */
class BareComparisonsTest {
    private static final Pattern DIFFERENCE = Pattern.compile("Math\\.abs\\([^;]* - ");
    private static final Path CHECKERS = Path.of("org", "moe4j", "core", "testing");
    private static final Pattern FOREIGN = Pattern.compile("\\bassertEquals\\(|\\bassertArrayEquals\\(");

    /** The result of a test's own definition, or what its subject is asked for: compared elsewhere, or a distance itself. */
    private static final Map<String, Integer> FORMULAS = Map.ofEntries(
            Map.entry("OwnWeightsDefinition", 1),
            Map.entry("RoutingGenerateCommandTest", 1),
            Map.entry("RoutingPageTest", 1),
            Map.entry("UsageDistanceTest", 1),
            Map.entry("ExpertPopularityTest", 1),
            Map.entry("LayerGauge", 1),
            Map.entry("TokenwiseRouter", 1),
            Map.entry("TokenwiseChoosing", 1),
            Map.entry("TokenwiseExpert", 2),
            Map.entry("SinkhornTest", 1),
            Map.entry("Arrays2D", 1),
            Map.entry("PrecisionProbeTest", 4));

    /** Whole numbers: colours, counts. */
    private static final Map<String, Integer> COUNTS = Map.ofEntries(
            Map.entry("LineFigureTest", 1), Map.entry("QuantileBiasTest", 1), Map.entry("SinkhornTest", 1));

    /** Errors in units of their own, of which the largest of many is judged: ulps, shares of a bound, neighbours of a type, digits of a page. */
    private static final Map<String, Integer> UNITS = Map.ofEntries(
            Map.entry("ActivationAccuracyTest", 1),
            Map.entry("ForwardModeTest", 1),
            Map.entry("HardNumbersTest", 1),
            Map.entry("IdentityExpertsTest", 1),
            Map.entry("MergeRoundingTest", 1),
            Map.entry("ScoreLawsTest", 9),
            Map.entry("ExponentialTest", 2),
            Map.entry("NormalCdfTest", 1),
            Map.entry("SigmoidSelectionTest", 2),
            Map.entry("CheckpointRewriteTest", 3),
            Map.entry("Example", 1));

    private static List<Path> sources() throws IOException {
        List<Path> sources = new ArrayList<>();
        for (String module : List.of("core", "router", "merge", "checkpoint", "bench")) {
            try (Stream<Path> files = Files.walk(Path.of("..", "moe-" + module, "src", "test", "java"))) {
                files.filter(file -> file.toString().endsWith(".java"))
                        .filter(file -> !className(file).equals("BareComparisonsTest"))
                        .forEach(sources::add);
            }
        }
        return sources;
    }

    private static String className(Path source) {
        return source.getFileName().toString().replace(".java", "");
    }

    /** How many lines of a text have a difference written out. */
    private static int differences(String source) {
        return (int)
                source.lines().filter(line -> DIFFERENCE.matcher(line).find()).count();
    }

    @Test
    void differencesAreWrittenOutWhereThereIsAReasonOnly() throws IOException {
        Map<String, Integer> found = new TreeMap<>();
        for (Path source : sources()) {
            int count = differences(Files.readString(source));
            if (count > 0 && !source.toString().contains(CHECKERS.toString())) {
                found.merge(className(source), count, Integer::sum);
            }
        }
        Map<String, Integer> allowed = new TreeMap<>();
        for (Map<String, Integer> reason : List.of(FORMULAS, COUNTS, UNITS)) {
            reason.forEach((name, count) -> allowed.merge(name, count, Integer::sum));
        }
        found.forEach((name, count) -> assertThat(count)
                .as("differences that %s writes out; take Tolerance, which has a twin", name)
                .isLessThanOrEqualTo(allowed.getOrDefault(name, 0)));
    }

    @Test
    void noOtherCheckersAreUsed() throws IOException {
        List<String> others = new ArrayList<>();
        for (Path source : sources()) {
            if (FOREIGN.matcher(Files.readString(source)).find()) {
                others.add(className(source));
            }
        }
        assertThat(others).isEmpty();
    }

    @Test
    void aDifferenceIsSeen() {
        assertThat(differences("assertThat(Math.abs(a - b)).isLessThan(1);")).isEqualTo(1);
        assertThat(differences("x = Math.abs(f(a[i]) - b);\ny = Math.abs(c - d);"))
                .isEqualTo(2);
        assertThat(differences("x = Math.abs(a);\ny = a - b;")).isZero();
    }
}
