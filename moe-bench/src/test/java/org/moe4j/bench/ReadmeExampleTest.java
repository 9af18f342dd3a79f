package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the README promises is true: its example compiles and runs as it stands, and its two commands are there. */
class ReadmeExampleTest {
    private static final List<String> IMPORTS = List.of(
            "org.moe4j.core.backend",
            "org.moe4j.core.expert",
            "org.moe4j.core.layer",
            "org.moe4j.core.nd4j",
            "org.moe4j.core.parameter",
            "org.moe4j.core.preset",
            "org.moe4j.merge",
            "org.moe4j.router");

    @TempDir
    Path folder;

    private static String readme() throws IOException {
        return Files.readString(Path.of("..", "README.md"));
    }

    @Test
    void theExampleCompilesAndRuns() throws Exception {
        Matcher block = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(readme());
        assertThat(block.find()).as("a java block").isTrue();
        StringBuilder source = new StringBuilder();
        IMPORTS.forEach(name -> source.append("import ").append(name).append(".*;\n"));
        source.append("public class Example {\n  public static void main(String[] args) {\n")
                .append(block.group(1))
                .append("  }\n}\n");
        Path file = Files.writeString(folder.resolve("Example.java"), source);
        String classPath = System.getProperty("java.class.path");
        int status = ToolProvider.getSystemJavaCompiler()
                .run(null, null, System.err, "-cp", classPath, "-d", folder.toString(), file.toString());
        assertThat(status).as("compiler").isZero();

        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            loader.loadClass("Example").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(before);
        }
        String[] words = printed.toString(StandardCharsets.UTF_8).trim().split(" ", -1);
        assertThat(Double.parseDouble(words[0])).isFinite().isNotZero();
        assertThat(words[1]).isEqualTo("256"); // F of the scaled preset: the gate projection is (F×D)
    }

    @Test
    void theTwoCommandsAreThoseThatCiRuns() throws IOException {
        List<String> ci = Files.readAllLines(Path.of("..", ".ci", "run"));
        for (String command : List.of("mvn -B -ntp verify", "./moe study merge-scale --quick")) {
            assertThat(readme()).contains(command);
            assertThat(ci).anyMatch(line -> line.trim().equals(command));
        }
    }
}
