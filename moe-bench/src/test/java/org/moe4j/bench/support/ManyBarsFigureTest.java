package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Reference;
import org.moe4j.bench.support.ManyBarsFigure.Panel;

final class ManyBarsFigureTest {
    private static final int FILL = 0x4a8fb8;

    @BeforeAll
    static void noDisplay() {
        System.setProperty("java.awt.headless", "true");
    }

    private static ManyBarsFigure figure(int bars) {
        List<Double> heights =
                IntStream.range(0, bars).mapToObj(i -> 10.0 * (bars - i) / bars).toList();
        Panel panel = new Panel(
                "layer 3", "experts, busiest first", Axis.reaching("share, %", 10), new Reference(5, "even"), heights);
        return new ManyBarsFigure("A < B", "made up", List.of(panel, panel));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 64, 128, 512})
    void everyBarIsAsHighAsItsNumber(int bars) throws IOException {
        ManyBarsFigure figure = figure(bars);
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(FigureFiles.png(figure)));
        double left = 24 + 64;
        double room = Math.min(110, (1200 - 24 - 130 - left) / bars);
        int bottom = 2 * (74 + 236 - 50);
        int height = 2 * (236 - 50 - 36);
        for (int bar : new int[] {0, bars / 2, bars - 1}) {
            int x = (int) (2 * (left + (bar + 0.5) * room));
            int filled = 0;
            for (int y = bottom - height; y < bottom; y++) {
                filled += (image.getRGB(x, y) & 0xffffff) == FILL ? 1 : 0;
            }
            assertThat((double) filled)
                    .as("bar " + bar)
                    .isCloseTo((double) height * (bars - bar) / bars, within(8.0)); // lines cross it
        }
    }

    @Test
    void wordsAreTextAndThereAreNotTooManyOfThem() throws IOException {
        String svg = FigureFiles.svg(figure(512));
        assertThat(svg)
                .contains("A &lt; B", "made up", ">layer 3<", ">even<", ">share, %<", ">experts, busiest first<");
        assertThat(svg.split("<text", -1)).hasSizeLessThan(80);
        assertThat(FigureFiles.svg(figure(512))).isEqualTo(svg).hasSizeLessThan(250_000);
    }

    @Test
    void aPanelWithoutBarsIsRefused() {
        assertThatThrownBy(() -> new Panel("p", "t", Axis.reaching("a", 1), new Reference(1, "r"), List.of()))
                .hasMessage("p: expected at least one bar but was none");
    }
}
