package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** A link of one page to another, or to a heading, leads somewhere. */
final class LinksTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern CODE = Pattern.compile("```.*?```", Pattern.DOTALL);
    private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
    private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.*)$");

    private static String text(Path page) throws IOException {
        return CODE.matcher(Files.readString(page)).replaceAll("");
    }

    /** As GitHub makes them: small letters, without marks, spaces as hyphens. */
    private static Set<String> anchors(Path page) throws IOException {
        return HEADING.matcher(text(page))
                .results()
                .map(heading -> heading.group(1)
                        .replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1")
                        .toLowerCase(Locale.ROOT)
                        .replaceAll("[^\\p{L}\\p{N}_\\- ]", "")
                        .strip()
                        .replace(' ', '-'))
                .collect(Collectors.toSet());
    }

    private static boolean leads(Path page, String link) throws IOException {
        int hash = link.indexOf('#');
        String file = hash < 0 ? link : link.substring(0, hash);
        Path target = file.isEmpty() ? page : page.resolveSibling(file).normalize();
        boolean heading = hash >= 0 && target.toString().endsWith(".md");
        return Files.exists(target) && (!heading || anchors(target).contains(link.substring(hash + 1)));
    }

    @Test
    void linksLeadSomewhere() throws IOException {
        List<Path> pages = DocumentedText.pages();
        List<String> dead = new ArrayList<>();
        for (Path page : pages) {
            for (String link : LINK.matcher(text(page))
                    .results()
                    .map(found -> found.group(1))
                    .toList()) {
                if (!link.contains("://") && !leads(page, link)) {
                    dead.add(ROOT.relativize(page) + ": " + link);
                }
            }
        }
        assertThat(pages).hasSizeGreaterThan(20);
        assertThat(dead).isEmpty();
    }
}
