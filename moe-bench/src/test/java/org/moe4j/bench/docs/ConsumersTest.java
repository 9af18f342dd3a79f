package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the README tells users to put into their POMs is what the projects in consumers/ have, and everybody names the same version. */
final class ConsumersTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern SNIPPET =
            Pattern.compile("<!-- consumers/(\\w+)/pom\\.xml -->\\n```xml\\n(.*?)```", Pattern.DOTALL);
    private static final Pattern OURS =
            Pattern.compile("<artifactId>moe-[a-z]+</artifactId>\\s*<version>([^<$]*)</version>");

    private static String text(String file) throws IOException {
        return Files.readString(ROOT.resolve(file));
    }

    private static String bare(String xml) {
        return xml.replaceAll("(?s)<!--.*?-->", "").replaceAll("\\s+", "");
    }

    @Test
    void everySnippetStandsInTheProjectItNames() throws IOException {
        String readme = text("README.md");
        Set<String> named = new TreeSet<>();
        Matcher snippet = SNIPPET.matcher(readme);
        while (snippet.find()) {
            named.add(snippet.group(1));
            assertThat(bare(text("consumers/" + snippet.group(1) + "/pom.xml")))
                    .as("consumers/" + snippet.group(1))
                    .contains(bare(snippet.group(2)));
        }
        assertThat(named).containsExactly("cpu", "cuda", "nd4j", "plain", "reference");
        assertThat(readme.split("```xml", -1))
                .as("every snippet has its project")
                .hasSize(named.size() + 1);
    }

    @Test
    void everybodyNamesTheSameVersion() throws IOException {
        Matcher parent = OURS.matcher(text("pom.xml"));
        assertThat(parent.find()).isTrue();
        String version = parent.group(1);
        List<String> files;
        try (Stream<Path> all = Files.walk(ROOT, 3)) {
            files = all.map(file -> ROOT.relativize(file).toString().replace('\\', '/'))
                    .filter(name -> name.matches("(moe-|consumers/)[^/]+/pom\\.xml|README\\.md"))
                    .toList();
        }
        assertThat(files).hasSizeGreaterThan(10);
        int seen = 0;
        for (String file : files) {
            Matcher each = OURS.matcher(text(file));
            while (each.find()) {
                assertThat(each.group(1)).as(file).isEqualTo(version);
                seen++;
            }
        }
        assertThat(seen).isGreaterThan(13);
        assertThat(text("examples/pom.xml")).contains("<moe4j.version>" + version + "</moe4j.version>");
        assertThat(text("CITATION.cff")).contains("\nversion: " + version + "\n");
    }
}
