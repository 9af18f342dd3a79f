package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ColumnRunTest {
    /** Output and part of each column that a sum goes through. */
    private static List<String> outputs(int outputs, int panel, int parts, int piece) {
        List<String> names = new ArrayList<>();
        for (ColumnRun run : ColumnRun.order(outputs, panel, parts, piece)) {
            for (int p = run.panel(); p < run.panel() + run.panels(); p++) {
                for (int c = run.column(); c < run.column() + run.columns(); c++) {
                    names.add(c / (panel / parts) + ":" + (p * panel / parts + c % (panel / parts)));
                }
            }
        }
        return names;
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "15, 2", "16, 2", "20, 2", "20, 1", "64, 2", "200, 2", "200, 1"})
    void theOrderDoesNotDependOnThePanel(int outputs, int parts) {
        List<String> expected = new ArrayList<>();
        for (int first = 0; first < outputs; first += 16) {
            for (int part = 0; part < parts; part++) {
                for (int i = first; i < Math.min(outputs, first + 16); i++) {
                    expected.add(part + ":" + i);
                }
            }
        }
        for (int panel : new int[] {4, 8, 16, 32, 64, 128}) {
            assertThat(outputs(outputs, panel, parts, 16))
                    .as("panel of %d", panel)
                    .isEqualTo(expected);
        }
    }

    @Test
    void wholePanelsGoTogether() {
        assertThat(ColumnRun.order(32 * 5 + 3, 32, 1, 16))
                .containsExactly(new ColumnRun(0, 4, 0, 32), new ColumnRun(4, 1, 0, 32), new ColumnRun(5, 1, 0, 3));
    }
}
