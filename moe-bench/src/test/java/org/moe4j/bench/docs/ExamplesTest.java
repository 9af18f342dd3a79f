package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The basic examples compile without a warning, run, and find nothing wrong; {@code examples/run} does it on installed artifacts. */
final class ExamplesTest {
    private static final Path EXAMPLES = DocumentedText.ROOT.resolve("examples");

    private static List<Path> sources(String project) throws IOException {
        try (Stream<Path> all = Files.walk(EXAMPLES.resolve(project).resolve("src"))) {
            return all.filter(file -> file.toString().endsWith(".java"))
                    .sorted()
                    .toList();
        }
    }

    private static String name(Path source) {
        return source.getFileName().toString().replace(".java", "");
    }

    @Test
    void basicExamplesRun(@TempDir Path folder) throws Exception {
        List<Path> sources = sources("basics");
        List<String> command = new ArrayList<>(List.of("--release", "17", "-Xlint:all,-path,-processing", "-Werror"));
        command.addAll(List.of("-proc:none", "-cp", System.getProperty("java.class.path"), "-d", folder.toString()));
        sources.forEach(source -> command.add(source.toString()));
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, System.err, command.toArray(String[]::new));
        assertThat(status).isZero();
        assertThat(sources).hasSizeGreaterThan(5);
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            for (Path source : sources) {
                loader.loadClass("org.moe4j.examples." + name(source))
                        .getMethod("main", String[].class)
                        .invoke(null, (Object) new String[0]);
            }
        }
    }

    /** The page, and the script for those of DL4J, name each program. */
    @Test
    void everyProgramIsNamed() throws IOException {
        List<Path> all = new ArrayList<>(sources("basics"));
        String script = DocumentedText.text(EXAMPLES.resolve("run"));
        for (Path source : sources("dl4j")) {
            if (DocumentedText.text(source).contains("void main(")) {
                all.add(source);
                assertThat(script).contains("org.moe4j.examples.dl4j." + name(source) + "\n");
            }
        }
        String page = DocumentedText.text(EXAMPLES.resolve("README.md"));
        assertThat(all)
                .hasSizeGreaterThan(7)
                .allSatisfy(source -> assertThat(page)
                        .contains("[" + name(source) + "]("
                                + EXAMPLES.relativize(source).toString().replace('\\', '/') + ")"));
    }

    @Test
    void versionsAreTheProjects() {
        String version = DocumentedText.text(DocumentedText.ROOT.resolve("pom.xml"))
                .replaceFirst("(?s).*?<artifactId>moe-parent</artifactId>\\s*<version>([^<]*)<.*", "$1");
        assertThat(DocumentedText.text(EXAMPLES.resolve("pom.xml")))
                .contains("<moe4j.version>" + version + "</moe4j.version>");
    }
}
