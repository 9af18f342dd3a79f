package org.moe4j.bench.limits;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.limits.LimitsResult.Gemm;
import org.moe4j.bench.limits.LimitsResult.LayerTime;
import org.moe4j.bench.limits.LimitsResult.Machine;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.support.LineFigure.Point;

/** On a machine of 50 GB/s and 400 GFLOP/s, whose ridge is 8 operations a byte. */
class LimitsPageTest {
    /** 200 MB in 5 ms, where 4 are the limit; 32 GFLOP in 100 ms, where 80 are. */
    private static final List<LayerTime> LAYERS = List.of(
            new LayerTime(LayerKind.VECTOR, 1, 8, 0.005, 0.006, 200e6, 0.1e9),
            new LayerTime(LayerKind.ND4J, 256, 64, 0.1, 0.125, 1600e6, 32e9));

    private static final LimitsResult RESULT = new LimitsResult(
            new Machine("2026-11-30", "a processor", 2, "JDK 17", "OpenBLAS"),
            50e9,
            List.of(new Gemm(LayerKind.VECTOR, 390e9), new Gemm(LayerKind.ND4J, 400e9)),
            LAYERS);

    @Test
    void theLongerOfReadingAndComputingIsTheLimit() {
        assertThat(LimitsPage.table(RESULT).rows())
                .containsExactly(
                        List.of("vector", "1", "5.00", "6.00", "200", "0.10", "40.0", "20", "4.00", "reading", "80 %"),
                        List.of(
                                "nd4j",
                                "256",
                                "100.00",
                                "125.00",
                                "1600",
                                "32.00",
                                "16.0",
                                "320",
                                "80.00",
                                "computing",
                                "80 %"));
    }

    @Test
    void theFileHasTheNumbersUnrounded() {
        assertThat(LimitsPage.csv(RESULT).csv())
                .startsWith("backend,tokens,experts,best_s,")
                .contains("\nvector,1,8,0.005,0.006,2.0E8,1.0E8,0.004,0.8,5.0E10,4.0E11\n");
    }

    @Test
    void thePageNamesMachineLimitsAndPicture() {
        assertThat(LimitsPage.markdown(RESULT, "x.svg"))
                .contains("2026-11-30 · a processor · 2 threads · JDK 17 · OpenBLAS")
                .contains("Reading 50.0 GB/s; products of 2048³: vector 390 GFLOP/s, nd4j 400 GFLOP/s.")
                .contains("(x.svg)");
    }

    @Test
    void theRoofBendsAtTheRidge() throws IOException {
        List<List<Point>> lines = LimitsPicture.of(RESULT).panels().get(0).lines();
        List<List<Double>> roof = lines.get(lines.size() - 1).stream()
                .map(point -> List.of(point.x(), point.y()))
                .toList();
        assertThat(roof)
                .containsExactly(
                        List.of(0.1, 5.0),
                        List.of(1.0, 50.0),
                        List.of(8.0, 400.0),
                        List.of(10.0, 400.0),
                        List.of(100.0, 400.0),
                        List.of(1000.0, 400.0));
        assertThat(FigureFiles.svg(LimitsPicture.of(RESULT))).contains("limit of the machine", "vector-bf16");
    }

    @Test
    void aResultComesThroughAFileUnchanged() throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        assertThat(mapper.readValue(mapper.writeValueAsString(RESULT), LimitsResult.class))
                .isEqualTo(RESULT);
    }

    @Test
    void kindsAreFoundByTheirNames() {
        assertThat(Stream.of(LayerKind.values()).map(LayerKind::text).map(LayerKind::named))
                .containsExactly(LayerKind.values());
        assertThat(IntStream.of(LayerKind.VECTOR.bytesPerWeight(), LayerKind.VECTOR_BFLOAT16.bytesPerWeight()))
                .containsExactly(4, 2);
    }
}
