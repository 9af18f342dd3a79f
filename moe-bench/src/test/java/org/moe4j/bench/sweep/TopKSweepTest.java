package org.moe4j.bench.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.bench.limits.LimitsResult.Machine;
import org.moe4j.bench.peers.LayerSize;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.sweep.TopKSweepResult.Row;
import org.moe4j.bench.timing.Alternation;
import org.moe4j.bench.timing.Times;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

class TopKSweepTest {
    private static final LayerSize SIZE = new LayerSize(16, 8, 12, 4);

    /** K 4 takes 10 and 14 ms, K 2 6 ms. */
    private static final TopKSweepResult RESULT = new TopKSweepResult(
            new TopKSweep(LayerKind.VECTOR_BFLOAT16, SIZE, 5, List.of(2), false),
            new Machine("2026-11-30", "a processor", 2, "JDK 17", "OpenBLAS"),
            List.of(
                    new Row(2, new Times(List.of(6_000_000L, 6_000_000L)), 7),
                    new Row(4, new Times(List.of(14_000_000L, 10_000_000L)), 11)));

    @Test
    void allPowersEndWithAllExperts() {
        assertThat(TopKSweep.allPowers(SIZE)).containsExactly(1, 2, 4, 8, 12);
        assertThat(TopKSweep.allPowers(new LayerSize(1, 1, 64, 8))).containsExactly(1, 2, 4, 8, 16, 32, 64);
        assertThat(TopKSweep.allPowers(new LayerSize(1, 1, 1, 1))).containsExactly(1);
    }

    @Test
    void theLayersOwnKIsAlwaysMeasured() {
        assertThat(RESULT.sweep().topKs()).containsExactly(2, 4);
        assertThatThrownBy(() -> new TopKSweep(LayerKind.VECTOR, SIZE, 5, List.of(13), false))
                .hasMessage("top-k: expected 1..12 (experts) but was 13");
        assertThatThrownBy(() -> new TopKSweep(LayerKind.VECTOR, SIZE, 0, List.of(1), false))
                .hasMessage("tokens: expected 1..134217727 (a matrix has at most 2^31 - 9 elements) but was 0");
    }

    @Test
    void everyKRunsOnTheSameBankAndIsChecked() throws Exception {
        TopKSweep sweep = new TopKSweep(LayerKind.ND4J, SIZE, 5, TopKSweep.allPowers(SIZE), true);
        AtomicInteger steps = new AtomicInteger();
        TopKSweepResult result =
                TopKSweepMeasurement.measure(sweep, new Alternation(0, 0, 2, 2, 0), steps::incrementAndGet);
        assertThat(result.rows()).extracting(Row::topK).containsExactly(1, 2, 4, 8, 12);
        assertThat(steps).hasValue(5 + 2);
        for (Row row : result.rows()) {
            assertThat(row.times().nanoseconds()).hasSize(2);
            assertThat(row.experts()).isEqualTo(distinctExperts(row.topK()));
        }
        assertThat(new ObjectMapper().readValue(new ObjectMapper().writeValueAsString(result), TopKSweepResult.class))
                .isEqualTo(result);
    }

    private static int distinctExperts(int topK) {
        Set<Integer> experts = new HashSet<>();
        try (TopKRouter router = TopKRouter.random(RouterConfig.topK(12, topK), 16, LayerKind.ND4J.backend(), 2);
                Matrix tokens = Initializer.normal(1).draw(LayerKind.ND4J.backend(), 5, 16, 3)) {
            Routing routing = router.routing(tokens, RoutingContext.plain());
            for (int t = 0; t < 5; t++) {
                for (int rank = 0; rank < topK; rank++) {
                    experts.add(routing.expert(t, rank));
                }
            }
        }
        return experts.size();
    }

    @Test
    void timesAreComparedWithTheLayersOwnK() {
        Row two = RESULT.rows().get(0);
        assertThat(RESULT.ratio(two)).isCloseTo(0.5, within(1e-15));
        assertThat(RESULT.ratioOfMinima(two)).isCloseTo(0.6, within(1e-15));
        assertThat(RESULT.arithmetic(two)).isEqualTo(0.5);
        assertThat(RESULT.touched(two)).isEqualTo(7 * 3 * 16 * 8 * 2);
        assertThat(RESULT.resident()).isEqualTo(12 * 3 * 16 * 8 * 2);
        LayerSize large = new LayerSize(4096, 14336, 128, 2);
        assertThat(new TopKSweepResult(
                                new TopKSweep(LayerKind.VECTOR, large, 1, List.of(), false),
                                RESULT.machine(),
                                List.of())
                        .resident())
                .isEqualTo(90_194_313_216L);
    }

    @Test
    void tablesHaveAllNumbers() {
        assertThat(TopKSweepPage.rounded(RESULT).rows())
                .containsExactly(
                        List.of("2", "6.00", "6.00", "0.50", "0.60", "0.500", "7", "0.0", "0.0"),
                        List.of("4", "12.00", "10.00", "1.00", "1.00", "1.000", "11", "0.0", "0.0"));
        assertThat(TopKSweepPage.csv(RESULT).csv())
                .startsWith("backend,top_k,tokens,median_ms,min_ms,ratio,ratio_of_minima,arithmetic_ratio,")
                .contains("\nvector-bf16,2,5,6.0,6.0,0.5,0.6,0.5,7,5376,9216,2\n");
    }

    @Test
    void thePageSaysThatALayerIsNoModel() {
        assertThat(TopKSweepPage.markdown(RESULT, "x.svg"))
                .contains("(x.svg)", "It is a layer and no model", "2.12 times", "D 16, F 8, E 12, 5 random tokens");
    }

    @Test
    void thePictureHasTimeBesideArithmeticAndWeights() throws IOException {
        LineFigure picture = TopKSweepPicture.of(RESULT);
        assertThat(picture.panels()).hasSize(2);
        LineFigure.Panel times = picture.panels().get(0);
        assertThat(times.x().ticks()).containsExactly(1.0, 2.0, 4.0);
        assertThat(times.y().ticks()).containsExactly(0.5, 1.0);
        assertThat(times.lines().get(0).get(0)).isEqualTo(new LineFigure.Point(2, 0.5, 0.5, 0.6));
        assertThat(picture.panels().get(1).lines().get(1).get(0).y()).isCloseTo(9216e-6, within(1e-12));
        assertThat(picture.panels().get(1).y().ticks().get(0)).isZero();
        assertThat(FigureFiles.svg(picture)).contains("One layer, no model");
        assertThat(FigureFiles.png(picture)).isNotEmpty();
    }
}
