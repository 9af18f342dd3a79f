package org.moe4j.bench.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** The page docs/conventions.md, cut into its sections. */
final class ConventionsPage {
    private static final String EXAMPLE = "**Example";

    private final String head;
    private final Map<String, String> sections = new LinkedHashMap<>();

    private ConventionsPage(String text) {
        String[] parts = text.split("(?m)^## ", -1);
        head = parts[0];
        for (int i = 1; i < parts.length; i++) {
            int end = parts[i].indexOf('\n');
            sections.put(parts[i].substring(0, end).trim(), parts[i].substring(end + 1));
        }
    }

    static ConventionsPage read() throws IOException {
        return new ConventionsPage(Files.readString(Path.of("..", "docs", "conventions.md")));
    }

    /** Titles in the order of the page. */
    List<String> titles() {
        return List.copyOf(sections.keySet());
    }

    String section(String title) {
        return sections.get(title);
    }

    /** The example of a section: from its first word to the end of the section; empty without one. */
    String example(String title) {
        String section = sections.get(title);
        int start = section.indexOf(EXAMPLE);
        return start < 0 ? "" : section.substring(start);
    }

    /** Places that the index at the top leads to. */
    List<String> indexed() {
        return Pattern.compile("\\]\\(#([^)]*)\\)")
                .matcher(head)
                .results()
                .map(link -> link.group(1))
                .toList();
    }

    /** The place of a title, as GitHub names it. */
    static String anchor(String title) {
        return title.toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\d _-]", "").replace(' ', '-');
    }
}
