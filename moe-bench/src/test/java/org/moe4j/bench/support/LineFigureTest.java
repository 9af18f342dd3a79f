package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

final class LineFigureTest {
    private static final Axis STEPS = new Axis("steps", List.of(0.0, 50.0, 100.0), false);
    private static final Axis RATIO = new Axis("ratio", List.of(1.0, 2.5, 10.0), true);
    private static final List<Point> FALLING = List.of(new Point(0, 8, 7, 9), new Point(100, 2, 1.5, 3));
    private static final List<Point> LEVEL = List.of(new Point(0, 1.2, 1.2, 1.2), new Point(100, 1.2, 1.2, 1.2));

    private static final LineFigure FIGURE = new LineFigure(
            "A < B & C",
            "made up",
            List.of("falling", "level"),
            "mean and range",
            List.of(new Panel("only", STEPS, RATIO, List.of(new Reference(1, "all = 1")), List.of(FALLING, LEVEL))));

    @BeforeAll
    static void noDisplay() {
        System.setProperty("java.awt.headless", "true");
    }

    @Test
    void svgHasTextAsTextAndALineAndABandPerSeries() throws Exception {
        String svg = FigureFiles.svg(FIGURE);
        Document document = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
        NodeList texts = document.getElementsByTagName("text");
        List<String> words = new ArrayList<>();
        for (int i = 0; i < texts.getLength(); i++) {
            words.add(texts.item(i).getTextContent());
        }
        assertThat(words)
                .contains("A < B & C", "made up", "falling", "level", "mean and range", "only", "all = 1")
                .contains("steps", "0", "50", "100", "ratio", "1", "2.5", "10");
        assertThat(document.getElementsByTagName("path").getLength()).isEqualTo(2 * 2);
        assertThat(FigureFiles.svg(FIGURE)).isEqualTo(svg).hasSizeLessThan(20_000);
    }

    /** The colour of the first line is found where the line has to be. */
    @Test
    void linesRunWhereTheirNumbersAre() throws IOException {
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(FigureFiles.png(FIGURE)));
        assertThat(image.getWidth()).isEqualTo(2 * Figure.WIDTH);
        assertThat(image.getHeight()).isEqualTo(2 * FIGURE.height());
        int left = 2 * (24 + 56);
        int right = 2 * (Figure.WIDTH - 24);
        int top = 2 * (74 + 36);
        int bottom = top + 2 * (420 - 92);
        assertThat(rowOf(image, left + 3, 0xd55e00, top, bottom)).isCloseTo(y(8, top, bottom), within(8));
        assertThat(rowOf(image, right - 3, 0xd55e00, top, bottom)).isCloseTo(y(2, top, bottom), within(8));
        assertThat(rowOf(image, (left + right) / 2, 0xd55e00, top, bottom)).isCloseTo(y(4, top, bottom), within(8));
        assertThat(rowOf(image, (left + right) / 2, 0x0072b2, top, bottom)).isCloseTo(y(1.2, top, bottom), within(8));
    }

    /** On a logarithmic axis from 1 to 10. */
    private static int y(double value, int top, int bottom) {
        return (int) Math.round(bottom - Math.log10(value) * (bottom - top));
    }

    private static int rowOf(BufferedImage image, int x, int color, int top, int bottom) {
        for (int y = top; y < bottom; y++) {
            if (near(image.getRGB(x, y), color)) {
                return y;
            }
        }
        throw new AssertionError("no " + Integer.toHexString(color) + " at x = " + x);
    }

    /** A pixel at the edge of a stroke has a little of what is behind it. */
    private static boolean near(int rgb, int color) {
        int off = 0;
        for (int shift = 0; shift <= 16; shift += 8) {
            off = Math.max(off, Math.abs((rgb >> shift & 0xff) - (color >> shift & 0xff)));
        }
        return off < 24;
    }

    /** Two names abreast below the title, and the plots of all panels begin below them. */
    @Test
    void aPanelMayHaveSeriesOfItsOwn() throws IOException {
        Panel own = new Panel(
                "own",
                STEPS,
                RATIO,
                List.of(),
                List.of(FALLING, LEVEL, LEVEL),
                List.of("first < own", "second", "third"));
        LineFigure both = new LineFigure(
                "t",
                "u",
                List.of("falling", "level"),
                "l",
                List.of(own, FIGURE.panels().get(0)));
        assertThat(FigureFiles.svg(both)).contains("first &lt; own", "second", "third", "falling", "level");
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(FigureFiles.png(both)));
        int width = (Figure.WIDTH - 24) / 2;
        int top = 2 * (74 + 36 + 40);
        int bottom = top + 2 * (420 - 92 - 40);
        for (int left : new int[] {2 * (24 + 56), 2 * (24 + width + 56)}) {
            assertThat(rowOf(image, left + 3, 0xd55e00, top, bottom)).isCloseTo(y(8, top, bottom), within(8));
        }
        // the third line lies on the second
        assertThat(rowOf(image, 2 * (24 + 56) + 300, 0x009e73, top, bottom)).isCloseTo(y(1.2, top, bottom), within(8));
    }

    @Test
    void smallAndLargeTicksArePowersOfTen() {
        assertThat(labels(0.001, 0.01, 1.0, 1e6)).containsExactly("0.001", "0.01", "1", "1000000");
        assertThat(labels(1e-16, 2.5e-4, 0.01, 1.0, 200.0)).containsExactly("10⁻¹⁶", "2.5·10⁻⁴", "10⁻²", "1", "200");
        assertThat(labels(-3e7, 0.0, 500.0, 2e3)).containsExactly("-3·10⁷", "0", "500", "2·10³");
    }

    private static List<String> labels(Double... ticks) {
        Axis axis = new Axis("any", List.of(ticks), false);
        return axis.ticks().stream()
                .map(tick -> LineFigurePainter.label(tick, axis))
                .toList();
    }

    @Test
    void whatLiesOutsideAnAxisIsCutOff() {
        assertThat(STEPS.share(-5)).isZero();
        assertThat(STEPS.share(25)).isEqualTo(0.25);
        assertThat(STEPS.share(200)).isEqualTo(1);
        assertThat(RATIO.share(0.5)).isZero();
        assertThat(RATIO.share(Math.sqrt(10))).isCloseTo(0.5, within(1e-15));
    }

    @Test
    void roundStepsReachTheLargestValue() {
        assertThat(ticks(1)).containsExactly(0.0, 0.2, 0.4, 0.6, 0.8, 1.0);
        assertThat(ticks(5.71)).containsExactly(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
        assertThat(ticks(0.0123)).containsExactly(0.0, 0.0025, 0.005, 0.0075, 0.01, 0.0125);
        assertThat(ticks(0)).containsExactly(0.0, 0.2, 0.4, 0.6, 0.8, 1.0);
        for (double most = 1e-9; most < 1e12; most *= 1.7) {
            List<Double> ticks = ticks(most);
            assertThat(ticks).hasSizeBetween(4, 8);
            assertThat(ticks.get(ticks.size() - 1)).isBetween(most, 2 * most);
        }
    }

    private static List<Double> ticks(double most) {
        return Axis.reaching("any", most).ticks();
    }

    @Test
    void moreThanFourPanelsStandInRowsOfThree() throws IOException {
        List<Panel> one = List.of(FIGURE.panels().get(0));
        List<Panel> five = Collections.nCopies(5, one.get(0));
        LineFigure figure = new LineFigure("t", "u", FIGURE.series(), "l", five);
        assertThat(figure.height()).isEqualTo(FIGURE.height() + 420);
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(FigureFiles.png(figure)));
        int width = (Figure.WIDTH - 24) / 3;
        for (int panel = 0; panel < 5; panel++) {
            int top = 2 * (74 + 36 + panel / 3 * 420);
            int bottom = top + 2 * (420 - 92);
            int left = 2 * (24 + 56 + panel % 3 * width);
            assertThat(rowOf(image, left + 3, 0xd55e00, top, bottom)).isCloseTo(y(8, top, bottom), within(8));
        }
    }

    @Test
    void wrongFiguresAreRefused() {
        assertThatThrownBy(() -> new LineFigure("t", "u", List.of("one"), "l", FIGURE.panels()))
                .hasMessage("only: expected 1 lines (series) but was 2");
        assertThatThrownBy(() -> new LineFigure("t", "u", List.of("a", "b", "c", "d", "e"), "l", List.of()))
                .hasMessage("series: expected at most 4 names but was 5");
        Panel tooMany = new Panel("own", STEPS, RATIO, List.of(), List.of(), List.of("a", "b", "c", "d", "e"));
        assertThatThrownBy(() -> new LineFigure("t", "u", List.of(), "l", List.of(tooMany)))
                .hasMessage("own: expected at most 4 names but was 5");
        Panel tooFew = new Panel("own", STEPS, RATIO, List.of(), List.of(LEVEL), List.of("a", "b"));
        assertThatThrownBy(() -> new LineFigure("t", "u", List.of("c"), "l", List.of(tooFew)))
                .hasMessage("own: expected 2 lines (series) but was 1");
        assertThatThrownBy(() -> new Axis("a", List.of(1.0), false))
                .hasMessage("ticks: expected at least two in ascending order but was [1.0]");
        assertThatThrownBy(() -> new Axis("a", List.of(2.0, 1.0), false)).hasMessageContaining("[2.0, 1.0]");
        assertThatThrownBy(() -> new Axis("a", List.of(0.0, 1.0), true))
                .hasMessage("ticks: expected numbers above 0 (logarithmic) but was 0.0");
    }
}
