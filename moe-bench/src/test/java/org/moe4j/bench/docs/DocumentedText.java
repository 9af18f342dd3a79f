package org.moe4j.bench.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The fenced blocks and the commands of all pages. */
final class DocumentedText {
    static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    private static final String SCRIPT = "(?:\\.ci|consumers|examples)/[a-z-]+";
    private static final Pattern FENCED =
            Pattern.compile("^( *)```([^\\s`]*)[ \\t]*\\n(.*?)^\\1```[ \\t]*$", Pattern.DOTALL | Pattern.MULTILINE);
    private static final Pattern INLINE = Pattern.compile("`([^`\\n]+)`");
    private static final Pattern COMMAND =
            Pattern.compile("(?:(?:[A-Z_]+=\\S+|env(?: -u \\w+)*|taskset -c \\d+) )*(?:\\./moe|moe|mvn|\\./mvnw|java|"
                    + SCRIPT + ")(?: .*)?");

    private DocumentedText() {}

    /** A fenced block without its indentation. */
    record Block(Path page, int line, String kind, String text) {
        @Override
        public String toString() {
            return place(page, line) + " " + kind;
        }
    }

    /** One command: what stands before its name, the name, and its words. */
    record Command(String place, boolean whole, List<String> before, String name, List<String> words) {
        @Override
        public String toString() {
            return place + " " + name + " " + String.join(" ", words);
        }
    }

    private static String place(Path page, int line) {
        return ROOT.relativize(page).toString().replace('\\', '/') + ":" + line;
    }

    static List<Path> pages() {
        List<Path> pages = new ArrayList<>();
        for (String folder : List.of("", "docs", "examples", "consumers")) {
            Path top = ROOT.resolve(folder);
            if (!Files.isDirectory(top)) {
                continue;
            }
            try (Stream<Path> all = Files.walk(top, folder.isEmpty() ? 1 : 5)) {
                all.filter(file -> file.toString().endsWith(".md"))
                        .filter(file -> !file.toString().contains("target"))
                        .sorted()
                        .forEach(pages::add);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return pages;
    }

    static String text(Path page) {
        try {
            return Files.readString(page);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<Block> blocks() {
        return pages().stream().flatMap(page -> blocks(page).stream()).toList();
    }

    static List<Block> blocks(Path page) {
        String text = text(page);
        return FENCED.matcher(text)
                .results()
                .map(found -> new Block(
                        page,
                        line(text, found.start()),
                        found.group(2),
                        found.group(3).replaceAll("(?m)^" + found.group(1), "")))
                .toList();
    }

    private static int line(String text, int at) {
        return 1 + (int) text.chars().limit(at).filter(c -> c == '\n').count();
    }

    /** Inline code of all pages, as {@code place} and text. */
    static List<Command> inline() {
        List<Command> all = new ArrayList<>();
        for (Path page : pages()) {
            String text = FENCED.matcher(text(page))
                    .replaceAll(found -> "\n".repeat((int) found.group().lines().count() - 1));
            int line = 0;
            for (String each : text.split("\n", -1)) {
                line++;
                Matcher found = INLINE.matcher(each);
                while (found.find()) {
                    all.add(new Command(place(page, line), false, List.of(), "", List.of(found.group(1))));
                }
            }
        }
        return all;
    }

    /** Those of bash blocks, and inline code that is a command; in the order of the pages. */
    static List<Command> commands() {
        List<Command> commands = new ArrayList<>();
        for (Block block : blocks()) {
            if (block.kind().equals("bash")) {
                int line = block.line();
                for (String each : block.text().replace("\\\n", " ").split("\n", -1)) {
                    line++;
                    String bare = each.replaceAll("(^|\\s)#.*", "").strip();
                    if (!bare.isEmpty()) {
                        commands.add(command(place(block.page(), line), true, bare));
                    }
                }
            }
        }
        for (Command code : inline()) {
            String text = code.words().get(0);
            boolean name = text.equals("moe") || text.equals("java"); // the words, not the commands
            if (COMMAND.matcher(text).matches() && !name) {
                commands.add(command(code.place(), false, text));
            }
        }
        return commands;
    }

    /** {@code whole} means from a block, where a reader copies it. */
    private static Command command(String place, boolean whole, String text) {
        if (!COMMAND.matcher(text).matches()) {
            throw new IllegalArgumentException(place + ": no known command: " + text);
        }
        List<String> words = new ArrayList<>(Arrays.asList(text.split("\\s+", -1)));
        List<String> before = new ArrayList<>();
        while (!words.get(0).matches("\\./moe|moe|mvn|\\./mvnw|java|" + SCRIPT)) {
            before.add(words.remove(0));
        }
        return new Command(place, whole, before, words.remove(0), List.copyOf(words));
    }
}
