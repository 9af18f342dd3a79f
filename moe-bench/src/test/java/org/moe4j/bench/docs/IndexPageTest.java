package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.moe4j.core.preset.Preset;

/** What README and docs/index.md count and list is what there is. */
final class IndexPageTest {
    private static final Path ROOT = Path.of("..");

    private static String page(String name) throws IOException {
        return Files.readString(ROOT.resolve(name));
    }

    @Test
    void theIndexLinksEveryPageAndEveryDecision() throws IOException {
        String index = page("docs/index.md");
        Path docs = ROOT.resolve("docs");
        try (Stream<Path> all = Files.walk(docs)) {
            assertThat(all.filter(file -> file.toString().endsWith(".md"))
                            .map(file -> docs.relativize(file).toString().replace('\\', '/'))
                            .filter(name -> !name.equals("index.md")))
                    .hasSizeGreaterThan(20)
                    .allSatisfy(name -> assertThat(index).contains("(" + name + ")"));
        }
    }

    @Test
    void pagesCountThePresetsThereAre() throws IOException {
        int presets = Preset.names().size();
        Matcher readme = Pattern.compile("preset file\\]\\(docs/presets.md\\): (.*) and (\\d+) others")
                .matcher(page("README.md"));
        assertThat(readme.find()).isTrue();
        assertThat(readme.group(1).split(", ").length + Integer.parseInt(readme.group(2)))
                .isEqualTo(presets);
        assertThat(page("docs/CHANGELOG.md")).contains("`Preset`: " + presets + " files");
    }
}
