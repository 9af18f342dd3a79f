package org.moe4j.checkpoint.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PartSourceTest {
    private static final int ROWS = 1500;
    private static final int COLUMNS = 90;

    /** Backends fill a large matrix with several threads. */
    @ParameterizedTest
    @CsvSource({"90, 1", "180, 2", "1, 1500", "2, 3000"})
    void severalThreadsReadTheirOwnRows(int ofRows, int ofColumns) {
        Values numbered = (from, into, at, count) -> {
            for (int i = 0; i < count; i++) {
                into[at + i] = from + i;
            }
        };
        PartSource source =
                new PartSource(numbered, new TensorPattern.Strides(7, ofRows, ofColumns), ROWS, COLUMNS, "tensor");
        double[][] wide = new double[ROWS][COLUMNS];
        float[][] narrow = new float[ROWS][COLUMNS];
        IntStream.range(0, ROWS).parallel().forEach(i -> {
            source.read(i, wide[i]);
            source.read(i, narrow[i]);
        });
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < COLUMNS; j++) {
                int index = 7 + i * ofRows + j * ofColumns;
                assertThat(wide[i][j]).isEqualTo((double) index);
                assertThat(narrow[i][j]).isEqualTo((float) index);
            }
        }
    }
}
