package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.docs.DocumentedText.Block;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Every fenced block is of a kind that some test reads; here those that are no commands. */
final class SnippetsTest {
    private static final Path ROOT = DocumentedText.ROOT;

    /** Each kind, and who reads it. */
    private static final Map<String, String> KINDS = Map.of(
            "java", "JavaBlocks, in a test of the page",
            "bash", "MoeCommandsTest and BuildCommandsTest",
            "console", "MoeCommandsTest",
            "xml", "here",
            "json", "here",
            "python", "here",
            "properties", "here",
            "text", "here, by its first line");

    /** A drawing that nothing prints. */
    private static final String MODULES = "          moe-bench";

    private static final String UNKNOWN_KEY =
            "preset olmo-study: expected a known key but was router.topk; did you mean router.topK?";

    private static Stream<Block> blocks(String kind) {
        return DocumentedText.blocks().stream().filter(block -> block.kind().equals(kind));
    }

    @Test
    void everyBlockHasAKindThatATestReads() {
        List<Block> blocks = DocumentedText.blocks();
        assertThat(blocks)
                .hasSizeGreaterThan(40)
                .allSatisfy(
                        block -> assertThat(KINDS.keySet()).as(block.toString()).contains(block.kind()));
        long fences = DocumentedText.pages().stream()
                .flatMap(page -> DocumentedText.text(page).lines())
                .filter(line -> line.strip().startsWith("```"))
                .count();
        assertThat(fences).as("fences that open or close").isEqualTo(2L * blocks.size());
    }

    /** A page with programs has a test that compiles them with JavaBlocks, which takes those at the beginning of a line. */
    @Test
    void everyPageWithProgramsIsCompiledByATest() throws IOException {
        StringBuilder tests = new StringBuilder();
        try (Stream<Path> all = Files.walk(Path.of("src", "test", "java", "org", "moe4j", "bench"), 1)) {
            all.filter(Files::isRegularFile).map(DocumentedText::text).forEach(tests::append);
        }
        blocks("java").forEach(block -> {
            String page = ROOT.relativize(block.page()).toString().replace('\\', '/');
            assertThat(tests).contains("JavaBlocks.compile(\"" + page + "\"");
            assertThat(DocumentedText.text(block.page())).contains("\n```java\n" + block.text());
        });
    }

    static Stream<Block> xml() {
        return blocks("xml");
    }

    @ParameterizedTest
    @MethodSource("xml")
    void coordinatesAreThoseOfTheProject(Block block) throws Exception {
        Map<String, Set<String>> versions = versions();
        for (Element dependency : elements(parse("<x>" + block.text() + "</x>"), "dependency")) {
            String artifact = child(dependency, "groupId") + ":" + child(dependency, "artifactId");
            assertThat(versions.keySet()).as(block.toString()).contains(artifact);
            String version = child(dependency, "version");
            if (version.isEmpty()) {
                assertThat(block.text() + DocumentedText.text(block.page()))
                        .as("a version for " + artifact + " in " + block)
                        .contains("moe-bom");
            } else {
                assertThat(versions.get(artifact)).as(artifact + " in " + block).contains(version);
            }
        }
    }

    /** What the project's files say of each artifact, with the values that properties have in the project or a profile. */
    private static Map<String, Set<String>> versions() throws Exception {
        Map<String, Set<String>> versions = new TreeMap<>();
        Map<String, Set<String>> properties = new TreeMap<>();
        List<Document> poms = new ArrayList<>();
        for (String file : List.of("pom.xml", "moe-bom/pom.xml", "examples/dl4j/pom.xml")) {
            if (Files.exists(ROOT.resolve(file))) {
                poms.add(parse(DocumentedText.text(ROOT.resolve(file))));
            }
        }
        String own = child(poms.get(0).getDocumentElement(), "version");
        properties.put("project.version", Set.of(own));
        for (Document pom : poms) {
            for (Element each : elements(pom, "*")) {
                if (each.getParentNode().getNodeName().equals("properties")) {
                    properties
                            .computeIfAbsent(each.getNodeName(), name -> new TreeSet<>())
                            .add(each.getTextContent());
                }
            }
            for (Element each : elements(pom, "dependency")) {
                String version = child(each, "version").replaceAll("[${}]", "");
                versions.computeIfAbsent(child(each, "groupId") + ":" + child(each, "artifactId"), a -> new TreeSet<>())
                        .addAll(properties.getOrDefault(version, Set.of(version)));
            }
        }
        versions.put("org.moe4j:moe-bom", Set.of(own));
        return versions;
    }

    private static List<Element> elements(Document document, String name) {
        NodeList all = document.getElementsByTagName(name);
        return IntStream.range(0, all.getLength())
                .mapToObj(i -> (Element) all.item(i))
                .toList();
    }

    private static Document parse(String xml) throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new InputSource(new StringReader(xml.strip())));
    }

    /** Text of a child element; empty without one. */
    private static String child(Element element, String name) {
        NodeList children = element.getChildNodes();
        for (int i = 0; i < children.getLength(); i++) {
            if (children.item(i).getNodeName().equals(name)) {
                return children.item(i).getTextContent().strip();
            }
        }
        return "";
    }

    @Test
    void jsonCanBeRead() {
        ObjectMapper strict = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
        blocks("json").forEach(block -> {
            try {
                strict.readTree(block.text());
            } catch (IOException e) {
                throw new AssertionError(block.toString(), e);
            }
        });
    }

    /** Of a layout or a preset that there is, line by line. */
    @Test
    void propertiesAreThoseOfFiles() throws IOException {
        StringBuilder files = new StringBuilder();
        for (String folder : List.of("moe-checkpoint", "moe-core")) {
            try (Stream<Path> all = Files.walk(ROOT.resolve(folder + "/src/main/resources"))) {
                all.filter(file -> file.toString().endsWith(".properties"))
                        .forEach(file -> files.append(DocumentedText.text(file)));
            }
        }
        blocks("properties")
                .forEach(block ->
                        block.text().lines().forEach(line -> assertThat(files).contains("\n" + line + "\n")));
    }

    /** Python is parsed where there is one; none of these scripts is run, as they need PyTorch and a model. */
    @Test
    void pythonCanBeParsed(@TempDir Path folder) throws IOException, InterruptedException {
        for (Block block : blocks("python").toList()) {
            Path file = Files.writeString(folder.resolve("block.py"), block.text());
            Process python;
            try {
                python = new ProcessBuilder(
                                "python3",
                                "-c",
                                "import ast, sys; ast.parse(open(sys.argv[1]).read())",
                                file.toString())
                        .inheritIO()
                        .start();
            } catch (IOException none) {
                return;
            }
            assertThat(python.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(python.exitValue()).as(block.toString()).isZero();
        }
    }

    @Test
    void textIsWhatTheLibrarySays() throws IOException {
        assertThat(blocks("text").map(block -> block.text().lines().findFirst().orElseThrow()))
                .containsExactlyInAnyOrder(MODULES, UNKNOWN_KEY);
        String original =
                Files.readString(ROOT.resolve("moe-core/src/main/resources/moe/preset/olmo-study.properties"));
        Map<String, String> values = original.lines()
                .filter(line -> line.contains("=") && !line.startsWith("#"))
                .map(line -> line.split("=", 2))
                .collect(Collectors.toMap(parts -> parts[0].strip(), parts -> parts[1].strip()));
        values.put("router.topk", "4");
        assertThatThrownBy(() -> RouterConfig.from(Preset.of("olmo-study", values)))
                .hasMessage(UNKNOWN_KEY);
    }

    /** The drawing of the modules has an edge for each module that stands above another. */
    @Test
    void theDrawingOfModulesNamesThemAll() {
        Block drawing = blocks("text")
                .filter(block -> block.text().startsWith(MODULES))
                .findFirst()
                .orElseThrow();
        Pattern module = Pattern.compile("<module>(moe-[a-z]+)</module>");
        module.matcher(DocumentedText.text(ROOT.resolve("pom.xml")))
                .results()
                .map(found -> found.group(1))
                .filter(name -> !name.equals("moe-bom"))
                .forEach(name -> assertThat(drawing.text()).contains(name));
    }

    @ParameterizedTest
    @ValueSource(strings = {"<version>0.3.30-1.5.12</version>", "<classifier>x</classifier>"})
    void otherCoordinatesAreFound(String line) {
        String artifact = line.contains("version") ? "openblas" : "openblass";
        String text = "<dependency><groupId>org.bytedeco</groupId><artifactId>" + artifact + "</artifactId>" + line
                + "</dependency>";
        Block block = new Block(ROOT.resolve("README.md"), 1, "xml", text);
        assertThatThrownBy(() -> coordinatesAreThoseOfTheProject(block)).isInstanceOf(AssertionError.class);
    }
}
