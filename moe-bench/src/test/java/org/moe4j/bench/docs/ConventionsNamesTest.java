package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.io.IOException;
import java.lang.reflect.Member;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.MergeConvention;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.loss.RouterLosses;

/** The names on docs/conventions.md are those of the library. */
final class ConventionsNamesTest {
    private static final Pattern SETTING = Pattern.compile(
            "`((?:experts|router|merge|shared|capacity|losses|noise|groupScore|closedGroups|epsilonPlace)[\\w.]*) = ([\\w.-]+)`");
    private static final Pattern NAME = Pattern.compile("`([A-Z]\\w+(?:\\.\\w+)*)(?:\\(\\w*\\))?`");
    private static final List<String> PACKAGES = List.of(
            "org.moe4j.router.",
            "org.moe4j.router.loss.",
            "org.moe4j.core.layer.",
            "org.moe4j.merge.",
            "org.moe4j.merge.rewrite.",
            "org.moe4j.core.backend.",
            "org.moe4j.core.dispatch.",
            "org.moe4j.core.expert.",
            "org.moe4j.core.layer.",
            "org.moe4j.core.nd4j.",
            "org.moe4j.bench.docs.",
            "java.lang.");

    private static final String BASE = """
            name = n
            source = s
            experts.count = 8
            experts.hiddenSize = 4
            experts.intermediateSize = 4
            router.topK = 2
            router.renormalization = sum
            shared.count = 2
            shared.intermediateSize = 4
            merge.convention = sum
            """;
    private static final String GROUPS = """
            router.selection = group-limited
            router.selection.groups = 2
            router.selection.keptGroups = 1
            router.selection.groupScore = max
            """;
    private static final String TOP_TWO = "router.selection = top-two\n";
    private static final String SHARED_ROUTER = """
            shared.apart = true
            merge.convention = shared-router
            """;

    /** Settings that have a meaning only beside others. */
    private static final Map<String, String> BESIDE = Map.ofEntries(
            Map.entry("router.score.epsilon", "router.score = sigmoid\n"),
            Map.entry("router.selection", GROUPS),
            Map.entry("router.selection.groupScore", GROUPS),
            Map.entry("router.selection.closedGroups", GROUPS),
            Map.entry("router.renormalization.epsilonPlace", "router.renormalization.epsilon = 0.5\n"),
            Map.entry("router.renormalization = norm", "router.renormalization.p = 2\n"),
            Map.entry("merge.convention = shared-router", SHARED_ROUTER),
            Map.entry("merge.convention = sigmoid-gated", "shared.apart = true\n"),
            Map.entry("merge.score", SHARED_ROUTER),
            Map.entry("capacity.scope = groups", "capacity.rows = 1\ncapacity.groupSize = 1\n"),
            Map.entry("router.selection = top-two", ""),
            Map.entry("router.selection = sinkhorn", ""),
            Map.entry("router.selection = expert-choice", "router.selection.factor = 1\n"),
            Map.entry("router.selection.secondExpert", TOP_TWO),
            Map.entry("router.selection.secondExpert = random", TOP_TWO + "router.selection.threshold = 0.2\n"),
            Map.entry("noise.kind = input-jitter", "noise.epsilon = 0.01\n"));

    private static final String CAPACITY = "capacity.factor = 1\ncapacity.rounding = down\n";

    @TempDir
    Path folder;

    private static String page() throws IOException {
        return Files.readString(Path.of("..", "docs", "conventions.md"));
    }

    @Test
    void everySettingIsReadFromAPreset() throws IOException {
        TreeSet<String> settings = new TreeSet<>();
        SETTING.matcher(page()).results().forEach(found -> settings.add(full(found.group(1)) + " = " + found.group(2)));
        assertThat(settings).hasSizeGreaterThan(20).contains("router.selection.groupScore = max");
        for (String setting : settings) {
            Preset preset = Preset.load(file(setting));
            assertThatCode(() -> {
                        RouterConfig.from(preset);
                        ExpertShape.shared(preset);
                        WeightPlace.from(preset);
                        MergeConvention.from(preset, ReferenceBackend.instance(), 1)
                                .close();
                        Capacity.from(preset);
                        RouterNoise.from(preset);
                        RouterLosses.from(preset);
                    })
                    .as(setting)
                    .doesNotThrowAnyException();
        }
    }

    private static String full(String key) {
        return switch (key) {
            case "groupScore", "closedGroups" -> "router.selection." + key;
            case "epsilonPlace" -> "router.renormalization." + key;
            default -> key;
        };
    }

    /** The base with the setting and what it needs; a later line takes the place of an earlier one with its key. */
    private Path file(String setting) throws IOException {
        String key = setting.substring(0, setting.indexOf(' '));
        String beside = BESIDE.getOrDefault(
                setting,
                BESIDE.getOrDefault(
                        key,
                        key.startsWith("capacity.")
                                ? CAPACITY
                                : key.startsWith("losses.") ? key + ".coefficient = 1\n" : ""));
        Map<String, String> lines = new TreeMap<>();
        (BASE + beside + setting).lines().forEach(line -> lines.put(line.substring(0, line.indexOf(' ')), line));
        return Files.write(folder.resolve("page.properties"), lines.values());
    }

    @Test
    void everyClassAndMemberExists() throws IOException {
        TreeSet<String> names = new TreeSet<>();
        NAME.matcher(page()).results().forEach(found -> names.add(found.group(1)));
        assertThat(names)
                .hasSizeGreaterThan(20)
                .allSatisfy(name -> assertThat(exists(name)).as(name).isTrue());
    }

    private static boolean exists(String name) {
        String[] parts = name.split("\\.", -1);
        Optional<Class<?>> owner = PACKAGES.stream()
                .flatMap(folder -> named(folder + parts[0]).stream())
                .findFirst();
        for (int i = 1; i < parts.length && owner.isPresent(); i++) {
            String part = parts[i];
            Class<?> type = owner.get();
            Optional<Class<?>> nested = Arrays.stream(type.getDeclaredClasses())
                    .<Class<?>>map(each -> each)
                    .filter(each -> each.getSimpleName().equals(part))
                    .findFirst();
            boolean member = Stream.<Member>concat(Arrays.stream(type.getMethods()), Arrays.stream(type.getFields()))
                    .anyMatch(each -> each.getName().equals(part));
            if (nested.isEmpty()) {
                return member && i == parts.length - 1;
            }
            owner = nested;
        }
        return owner.isPresent();
    }

    private static Optional<Class<?>> named(String name) {
        try {
            return Optional.of(Class.forName(name));
        } catch (ClassNotFoundException none) {
            return Optional.empty();
        }
    }
}
