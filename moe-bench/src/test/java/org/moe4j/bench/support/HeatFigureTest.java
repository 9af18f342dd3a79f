package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.bench.support.HeatFigure.Panel;
import org.moe4j.bench.support.HeatFigure.Side;
import org.moe4j.bench.support.LineFigure.Axis;

final class HeatFigureTest {
    private static final Axis SCALE = Axis.reaching("load", 4);

    @BeforeAll
    static void noDisplay() {
        System.setProperty("java.awt.headless", "true");
    }

    private static Side side(String label, int count) {
        return new Side(
                label, IntStream.range(0, count).mapToObj(Integer::toString).toList());
    }

    private static Panel panel(String title, int rows, int columns) {
        List<List<Double>> values = IntStream.range(0, rows)
                .mapToObj(row -> IntStream.range(0, columns)
                        .mapToObj(column -> 4.0 * ((row + column) % columns) / Math.max(1, columns - 1))
                        .toList())
                .toList();
        return new Panel(title, side("layer", rows), side("expert", columns), values);
    }

    private static HeatFigure figure(Panel... panels) {
        return new HeatFigure("A < B & C", "made up", SCALE, List.of(panels));
    }

    private static BufferedImage image(Figure figure) throws IOException {
        return ImageIO.read(new ByteArrayInputStream(FigureFiles.png(figure)));
    }

    /** Cells narrower than half a pixel are drawn at their true width: the last column is at the right edge. */
    @ParameterizedTest
    @CsvSource({"2000", "2600", "65536"})
    void anyNumberOfColumnsFits(int columns) throws IOException {
        BufferedImage image =
                assertTimeoutPreemptively(Duration.ofSeconds(60), () -> image(figure(panel("p", 2, columns))));
        int y = 2 * (74 + 34 + 1);
        int left = (int) Math.ceil(2 * (24 + 22 + 6.8 + 8)) + 4;
        int right = image.getWidth() - 2 * 24 - 8;
        assertThat(brightness(image, left, y)).isGreaterThan(500); // loads rise from 0 on the left
        if (columns > 2600) {
            assertThat(brightness(image, right, y)).isLessThan(200); // to the most on the right
        }
    }

    private static int brightness(BufferedImage image, int x, int y) {
        Color color = new Color(image.getRGB(x, y));
        return color.getRed() + color.getGreen() + color.getBlue();
    }

    /** One panel of 3 by 4 cells 24 wide and high; the left edge is the margin and the room for names. */
    @Test
    void aCellHasTheColourOfItsValue() throws IOException {
        List<List<Double>> values =
                List.of(List.of(0.0, 1.0, 2.0, 4.0), List.of(9.0, -1.0, 0.0, 0.0), List.of(4.0, 3.0, 2.0, 1.0));
        HeatFigure figure = figure(new Panel("p", side("layer", 3), side("expert", 4), values));
        BufferedImage image = image(figure);
        double left = 24 + 22 + 6.8 + 8;
        double top = 74 + 34;
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 4; column++) {
                double share = Math.max(0, Math.min(1, values.get(row).get(column) / 4));
                Color expected = HeatFigurePainter.color((int) Math.round(share * 47));
                int x = (int) (2 * (left + (column + 0.5) * 24));
                int y = (int) (2 * (top + (row + 0.5) * 24));
                assertThat(image.getRGB(x, y)).as(row + ", " + column).isEqualTo(expected.getRGB());
            }
        }
    }

    /** So that also print and the colour-blind see which is more. */
    @Test
    void moreIsDarker() {
        double lightness = 256;
        for (int level = 0; level < 48; level++) {
            Color color = HeatFigurePainter.color(level);
            double next = 0.2126 * color.getRed() + 0.7152 * color.getGreen() + 0.0722 * color.getBlue();
            assertThat(next).as("level " + level).isLessThan(lightness);
            lightness = next;
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "4, 8, 1", "16, 64, 3", "64, 64, 2", "61, 256, 2", "48, 512, 1"})
    void everySizeStaysOnItsSheetAndWithinBounds(int rows, int columns, int panels) throws IOException {
        Panel[] all = IntStream.range(0, panels)
                .mapToObj(i -> panel("passage " + i, rows, columns))
                .toArray(Panel[]::new);
        HeatFigure figure = figure(all);
        BufferedImage image = image(figure);
        for (int y = 0; y < image.getHeight(); y++) {
            for (int x = 0; x < 20; x++) {
                assertThat(image.getRGB(x, y) & 0xffffff).isEqualTo(0xffffff);
                assertThat(image.getRGB(image.getWidth() - 1 - x, y) & 0xffffff).isEqualTo(0xffffff);
            }
        }
        String svg = FigureFiles.svg(figure);
        assertThat(svg)
                .contains("A &lt; B &amp; C", "made up", ">layer<", ">expert<", ">load<", ">passage 0<")
                .hasSizeLessThan(100_000 + 100 * rows * columns * panels);
        assertThat(FigureFiles.svg(figure)).isEqualTo(svg);
    }

    @Test
    void longNamesAreShortenedAndSmallMatricesHaveTheirValues() throws IOException {
        Side names = new Side("passage", List.of("prose", "a name of forty letters, all of them here"));
        String svg =
                FigureFiles.svg(figure(new Panel("p", names, names, List.of(List.of(0.25, 3.5), List.of(4.0, 1.125)))));
        assertThat(svg)
                .contains(">0.250<", ">3.500<", ">4.000<", ">1.125<", ">prose<", ">a name of forty letters, all …<");
    }

    @Test
    void inlineHasNoDeclarationAndNoIdentifiers() throws IOException {
        String svg = FigureFiles.inline(figure(panel("p", 2, 2)));
        assertThat(svg)
                .startsWith("<svg ")
                .doesNotContain(" id=", "<defs", "width=\"1200\" xmlns", "<?xml", "<!DOCTYPE")
                .contains("role=\"img\"", "aria-label=\"A &lt; B &amp; C\"", "viewBox=\"0 0 1200 ");
    }

    @Test
    void wrongFiguresAreRefused() {
        assertThatThrownBy(() -> new Panel("p", side("a", 2), side("b", 1), List.of(List.of(1.0))))
                .hasMessage("p: expected as many values as names (rows), at least 1, but was 1 for 2");
        assertThatThrownBy(() -> new Panel("p", side("a", 1), side("b", 2), List.of(List.of(1.0))))
                .hasMessage("p: expected as many values as names (columns), at least 1, but was 1 for 2");
        assertThatThrownBy(() -> new Panel("p", side("a", 0), side("b", 2), List.of()))
                .hasMessage("p: expected as many values as names (rows), at least 1, but was 0 for 0");
    }
}
