package org.moe4j.bench.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.checkpoint.trace.TraceOptions;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.router.analysis.LogitSource;

/**
 * The page in a browser, opened from a file. It has no script; what a browser makes of it is measured by one that is put into a copy and
 * leaves what it found in the page.
 */
final class ReportBrowserTest {
    private static final String POLICY = "default-src 'none'; style-src 'unsafe-inline'";

    /** Sizes of the pictures, words outside of their picture or on each other, cells of the tables, and how wide the page is. */
    private static final String PROBE = """
            <pre id="found"></pre><script>
            addEventListener('load', () => {
              const found = {title: document.title, wide: document.documentElement.scrollWidth, view: innerWidth,
                scripts: document.scripts.length, images: document.images.length, pictures: [], outside: [], overlapping: [],
                cells: [...document.querySelectorAll('tbody th, tbody td')].map(cell => cell.textContent),
                label: [...document.querySelectorAll('.synthetic')].filter(p => p.getBoundingClientRect().height > 0).length};
              for (const picture of document.querySelectorAll('svg')) {
                const frame = picture.getBoundingClientRect();
                found.pictures.push([frame.width, frame.height]);
                const words = [...picture.querySelectorAll('text')].map(word => [word.textContent, word.getBoundingClientRect()]);
                const unit = frame.width / 1200;
                words.forEach(([word, box], i) => {
                  if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom) {
                    found.outside.push(word);
                  }
                  for (const [other, at] of words.slice(i + 1)) {
                    const across = Math.min(box.right, at.right) - Math.max(box.left, at.left);
                    const down = Math.min(box.bottom, at.bottom) - Math.max(box.top, at.top);
                    if (across > unit && down > 4 * unit) {
                      found.overlapping.push(word + ' / ' + other);
                    }
                  }
                });
              }
              document.getElementById('found').textContent = JSON.stringify(found);
            });
            </script>
            """;

    @TempDir
    static Path temporary;

    private Browser browser;

    @BeforeAll
    static void noDisplay() {
        System.setProperty("java.awt.headless", "true");
    }

    @BeforeEach
    void browserIsThere() {
        Optional<Browser> found = Browser.find();
        assumeTrue(
                found.isPresent(),
                "SKIPPED: no chromium, chromium-browser or google-chrome on the PATH, nor one named by -Dmoe.browser");
        browser = found.orElseThrow();
    }

    /** What the probe found in a page. */
    static JsonNode found(Browser browser, Path folder, String page, int width)
            throws IOException, InterruptedException {
        assertThat(page).contains(POLICY);
        String copy =
                page.replace(POLICY, POLICY + "; script-src 'unsafe-inline'").replace("</body>", PROBE + "</body>");
        Path file = Files.writeString(Files.createTempFile(folder, "probed", ".html"), copy);
        Browser.Outcome outcome = browser.run(folder, List.of("--dump-dom", "--window-size=" + width + ",900"), file);
        assertThat(outcome.err().lines().filter(line -> line.contains("CONSOLE")))
                .isEmpty();
        Matcher matcher = Pattern.compile("<pre id=\"found\">(\\{.*?})</pre>", Pattern.DOTALL)
                .matcher(outcome.out());
        assertThat(matcher.find()).as("the probe has run").isTrue();
        String json = matcher.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        return new ObjectMapper().readTree(json);
    }

    @Test
    void picturesAndTablesAreThereAndReadable() throws Exception {
        String page = SampleReport.of(Optional.of("Synthetic: made up")).html();
        JsonNode found = found(browser, temporary, page, 1280);
        assertThat(found.get("title").asText()).isEqualTo("Routing of " + SampleReport.HOSTILE);
        assertThat(found.get("scripts").asInt()).as("the probe alone").isEqualTo(1);
        assertThat(found.get("images").asInt()).isZero();
        assertThat(found.get("label").asInt()).isEqualTo(1);
        assertThat(found.get("pictures")).hasSize(3).allSatisfy(size -> {
            assertThat(size.get(0).asDouble()).isGreaterThan(1000);
            assertThat(size.get(1).asDouble()).isGreaterThan(250);
        });
        assertThat(found.get("outside")).as("words outside of their picture").isEmpty();
        assertThat(found.get("overlapping")).as("words on each other").isEmpty();
        assertThat(found.get("cells"))
                .extracting(JsonNode::asText)
                .containsExactly(
                        SampleReport.HOSTILE, "0", "1,234,567", "8.92 %", "5.71x", "b", "1", "2", "30.00 %", "-");
    }

    /** The pictures of real reports, of few experts and of many. */
    @ParameterizedTest
    @CsvSource({"8, 2, 1, 1", "64, 8, 16, 3", "512, 10, 2, 3"})
    void everyPictureOfTracesIsReadable(int experts, int topK, int layers, int passages) throws Exception {
        List<TraceFile> traces = new ArrayList<>();
        for (int p = 0; p < passages; p++) {
            SplittableRandom random = new SplittableRandom(p);
            Map<String, LogitSource> logits = new LinkedHashMap<>();
            for (int layer = 0; layer < layers; layer++) {
                logits.put(
                        "" + layer,
                        LogitSource.of(experts, random.doubles(40L * experts).toArray()));
            }
            Path file = temporary.resolve("a passage with a rather long name, number " + p + ".safetensors");
            TraceWriter.writeLogits(file, logits, ElementType.F32, Map.of("moe4j.synthetic", "uniform, seed " + p));
            traces.add(TraceFile.open(file, TraceOptions.none().withTopK(topK)));
        }
        RoutingSettings settings = new RoutingSettings(
                List.of(2, 4),
                List.of(4),
                1,
                1,
                Optional.empty(),
                Optional.empty(),
                OptionalLong.of(3),
                Optional.of("0"));
        List<Passage> all = Passage.of(traces);
        AtomicLong read = new AtomicLong();
        Report report = RoutingRun.run(all, settings, read::addAndGet);
        assertThat(read.get()).isEqualTo(RoutingRun.steps(all));
        JsonNode found = found(browser, temporary, report.html(), 1280);
        long pictures = report.parts().stream()
                .mapToLong(part -> part.pictures().size())
                .sum();
        assertThat(found.get("pictures")).hasSize((int) pictures);
        assertThat(found.get("outside")).as("words outside of their picture").isEmpty();
        assertThat(found.get("overlapping")).as("words on each other").isEmpty();
        assertThat(found.get("label").asInt()).isEqualTo(1);
        long cells = report.parts().stream()
                .flatMap(part -> part.sheets().stream())
                .mapToLong(sheet -> (long) sheet.rows().size() * sheet.columns().size())
                .sum();
        assertThat(found.get("cells")).hasSize((int) cells);
    }

    /** What finds nothing in the report has to find something elsewhere. */
    @Test
    void wordsOnEachOtherAndOutsideAreFound() throws Exception {
        String picture = "<svg viewBox=\"0 0 1200 100\" width=\"600\" height=\"50\"><text x=\"100\" y=\"50\">one</text>"
                + "<text x=\"110\" y=\"50\">two</text><text x=\"400\" y=\"50\">three</text>"
                + "<text x=\"1190\" y=\"50\">outside</text></svg>";
        String page = "<!DOCTYPE html><title>t</title><meta http-equiv=\"Content-Security-Policy\" content=\"" + POLICY
                + "\"><body>" + picture + "</body>";
        JsonNode found = found(browser, temporary, page, 1280);
        assertThat(found.get("overlapping")).extracting(JsonNode::asText).containsExactly("one / two");
        assertThat(found.get("outside")).extracting(JsonNode::asText).containsExactly("outside");
    }

    @Test
    void aNarrowPageIsNotWiderThanItsWindow() throws Exception {
        JsonNode found =
                found(browser, temporary, SampleReport.of(Optional.empty()).html(), 500);
        assertThat(found.get("wide").asInt())
                .isLessThanOrEqualTo(found.get("view").asInt());
        assertThat(found.get("label").asInt()).isZero();
    }

    /** The page as it is, without the probe. */
    @Test
    void thePageOpensFromAFileAndIsNotBlank() throws Exception {
        Path page = Files.writeString(
                temporary.resolve("a page & more.html"),
                SampleReport.of(Optional.empty()).html());
        Path image = temporary.resolve("page.png");
        Browser.Outcome outcome =
                browser.run(temporary, List.of("--screenshot=" + image, "--window-size=1280,2400"), page);
        assertThat(outcome.err().lines().filter(line -> line.contains("CONSOLE")))
                .isEmpty();
        BufferedImage screen = ImageIO.read(image.toFile());
        assertThat(screen.getWidth()).isEqualTo(1280);
        assertThat(screen.getHeight()).isEqualTo(2400);
        Set<Integer> colors = new HashSet<>();
        int inked = 0;
        for (int y = 0; y < screen.getHeight(); y++) {
            for (int x = 0; x < screen.getWidth(); x++) {
                int rgb = screen.getRGB(x, y) & 0xffffff;
                colors.add(rgb);
                inked += rgb == 0xffffff ? 0 : 1;
            }
        }
        assertThat(colors)
                .as("the 48 colours of the heat map and what is between them and white")
                .hasSizeGreaterThan(100);
        assertThat(inked).isGreaterThan(1280 * 2400 / 20);
    }
}
