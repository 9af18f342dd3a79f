package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;

/** The Java blocks of a page, each a file of its own with one public class, compiled together as they stand. */
final class JavaBlocks implements AutoCloseable {
    private static final Pattern BLOCK = Pattern.compile("^```java\n(.*?)^```", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern CLASS = Pattern.compile("^public (?:final )?class (\\w+)", Pattern.MULTILINE);

    private final List<String> names = new ArrayList<>();
    private final URLClassLoader loader;

    private JavaBlocks(Path page, Path folder) throws IOException {
        List<String> command = new ArrayList<>(
                List.of("--release", "17", "-cp", System.getProperty("java.class.path"), "-d", folder.toString()));
        Matcher block = BLOCK.matcher(Files.readString(page));
        while (block.find()) {
            Matcher name = CLASS.matcher(block.group(1));
            assertThat(name.find()).as("a public class in\n" + block.group(1)).isTrue();
            names.add(name.group(1));
            Path file = folder.resolve(name.group(1) + ".java");
            command.add(Files.writeString(file, block.group(1)).toString());
        }
        assertThat(names).as("java blocks of " + page).isNotEmpty().doesNotHaveDuplicates();
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, System.err, command.toArray(String[]::new));
        assertThat(status).as("compiler, for " + page).isZero();
        loader = new URLClassLoader(new URL[] {folder.toUri().toURL()});
    }

    /** Compiles all blocks of a page, given from the root of the project. */
    static JavaBlocks compile(String page, Path folder) throws IOException {
        return new JavaBlocks(Path.of("..", page), folder);
    }

    /** The names of the classes, in the order of the page. */
    List<String> names() {
        return names;
    }

    /** A method of one of the classes. */
    Method method(String type, String name, Class<?>... parameters) throws ReflectiveOperationException {
        return loader.loadClass(type).getMethod(name, parameters);
    }

    /** The lines that a program prints, each cut into words. */
    List<List<String>> run(String type, String... arguments) throws ReflectiveOperationException {
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            method(type, "main", String[].class).invoke(null, (Object) arguments);
        } finally {
            System.setOut(before);
        }
        return printed.toString(StandardCharsets.UTF_8)
                .lines()
                .map(line -> List.of(line.split(" ", -1)))
                .toList();
    }

    @Override
    public void close() throws IOException {
        loader.close();
    }
}
