package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

final class TableTest {
    private static final Table TABLE = new Table(
            List.of("name", "value"),
            1,
            List.of(List.of("long name", "1.5"), List.of("b", "-20.25"), List.of("c", "")));

    @Test
    void wordsStandLeftAndNumbersRight() {
        assertThat(TABLE.aligned()).isEqualTo("""
                        name        value
                        -----------------
                        long name     1.5
                        b          -20.25
                        c
                        """);
    }

    @Test
    void markdownSaysTheAlignmentAndEscapesBars() {
        assertThat(new Table(List.of("a", "b"), 1, List.of(List.of("x|y", "1"))).markdown())
                .isEqualTo("""
                        | a | b |
                        | :-- | --: |
                        | x\\|y | 1 |
                        """);
    }

    @Test
    void csvQuotesWhatWouldBreakACell() {
        Table table = new Table(
                List.of("a", "b"), 0, List.of(List.of("1,5", "say \"no\""), List.of("two\nlines", "plain text")));
        assertThat(table.csv()).isEqualTo("a,b\n\"1,5\",\"say \"\"no\"\"\"\n\"two\nlines\",plain text\n");
    }

    @Test
    void csvLeavesEmptyCellsEmpty() {
        assertThat(TABLE.csv()).isEqualTo("name,value\nlong name,1.5\nb,-20.25\nc,\n");
    }

    @Test
    void aRowOfAnotherLengthIsRefused() {
        assertThatThrownBy(() -> new Table(List.of("a", "b"), 0, List.of(List.of("1"))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("rows: expected 2 cells (columns) but was [1]");
    }
}
