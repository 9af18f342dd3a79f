package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.BarFigure.Bar;
import org.moe4j.bench.support.BarFigure.Legend;
import org.moe4j.bench.support.BarFigure.Panel;
import org.moe4j.bench.support.BarFigure.Series;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

final class FigureFilesTest {
    private static final Bar LOW = new Bar(0.5, 0.4, 0.6, OptionalDouble.of(0.55));
    private static final Bar HIGH = new Bar(1, 0.9, 1.1, OptionalDouble.empty());

    private static final BarFigure FIGURE = new BarFigure(
            "A < B & C",
            "made up",
            List.of(List.of("one", "first"), List.of("two")),
            List.of(
                    new Panel(
                            "left", "ratio", 1.2, Optional.of("all = 1"), List.of(new Series("s", List.of(LOW, HIGH)))),
                    new Panel(
                            "right",
                            "ratio",
                            1.2,
                            Optional.empty(),
                            List.of(new Series("s", List.of(LOW, HIGH)), new Series("t", List.of(HIGH, LOW))))),
            new Legend("mean", "range", "published"));

    @BeforeAll
    static void noDisplay() {
        System.setProperty("java.awt.headless", "true");
    }

    @Test
    void svgIsXmlWithTextAsText() throws Exception {
        String svg = FigureFiles.svg(FIGURE);
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        Document document =
                factory.newDocumentBuilder().parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
        Element root = document.getDocumentElement();
        assertThat(root.getTagName()).isEqualTo("svg");
        assertThat(root.getAttribute("viewBox")).isEqualTo("0 0 1200 " + FIGURE.height());
        assertThat(texts(root, "title")).containsExactly("A < B & C");
        assertThat(texts(root, "text"))
                .contains("A < B & C", "made up", "left", "right", "one", "first", "two", "all = 1", "s", "t", "0.500")
                .contains("mean", "range", "published", "ratio", "1.2");
        assertThat(root.getElementsByTagName("path").getLength())
                .as("a diamond for every marker and one in the legend, fill and outline each")
                .isEqualTo(2 * (3 + 1));
    }

    @Test
    void svgIsTheSameAgain() throws IOException {
        assertThat(FigureFiles.svg(FIGURE)).isEqualTo(FigureFiles.svg(FIGURE)).hasSizeLessThan(60_000);
    }

    @Test
    void pngHasTwoPixelsForAUnitAndBarsInIt() throws IOException {
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(FigureFiles.png(FIGURE)));
        assertThat(image.getWidth()).isEqualTo(2400);
        assertThat(image.getHeight()).isEqualTo(2 * FIGURE.height());
        int white = 0;
        int ink = 0;
        for (int y = 0; y < image.getHeight(); y++) {
            for (int x = 0; x < image.getWidth(); x++) {
                int rgb = image.getRGB(x, y) & 0xffffff;
                white += rgb == 0xffffff ? 1 : 0;
                ink += (rgb & 0xff) < 0x40 ? 1 : 0;
            }
        }
        int all = image.getWidth() * image.getHeight();
        assertThat(white).isBetween(all / 2, all * 95 / 100);
        assertThat(ink).isGreaterThan(all / 1000);
    }

    @Test
    void aSeriesNeedsABarForEveryGroup() {
        List<Panel> panels =
                List.of(new Panel("left", "ratio", 1, Optional.empty(), List.of(new Series("s", List.of(LOW)))));
        List<List<String>> groups = List.of(List.of("one"), List.of("two"));
        assertThatThrownBy(() -> new BarFigure("t", "u", groups, panels, FIGURE.legend()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("left: expected 2 bars (groups) but was 1");
    }

    private static List<String> texts(Element root, String tag) {
        NodeList nodes = root.getElementsByTagName(tag);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            texts.add(nodes.item(i).getTextContent());
        }
        return texts;
    }
}
