package org.moe4j.core.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigInteger;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.reference.ReferenceBackend;

/** Sizes near the ends of {@code int} and {@code long} are counted or refused, and never wrap around. */
class LargeSizesTest {
    private static final int MAX = Integer.MAX_VALUE;

    @Test
    void productsAreRightOrRefused() {
        assertThat(Require.product("n", 46_340, 46_340)).isEqualTo(46_340 * 46_340);
        assertThatThrownBy(() -> Require.product("n", 46_341, 46_341))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("n: expected a product below 2^31 but was 46341 x 46341");
        for (long a : new long[] {0, 1, 3, 1L << 31, 1L << 32, Long.MAX_VALUE / 3, Long.MAX_VALUE}) {
            for (long b : new long[] {0, 1, 2, 3, 1L << 31, Long.MAX_VALUE}) {
                BigInteger exact = BigInteger.valueOf(a).multiply(BigInteger.valueOf(b));
                if (exact.bitLength() < 64) {
                    assertThat(Require.longProduct("n", a, b)).isEqualTo(exact.longValueExact());
                } else {
                    assertThatThrownBy(() -> Require.longProduct("n", a, b))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessage("n: expected a product below 2^63 but was " + a + " x " + b);
                }
            }
        }
    }

    @Test
    void weightsThatNobodyCouldCountAreRefused() {
        assertThat(new ExpertShape(1 << 16, 1 << 20, 1 << 20).parameters()).isEqualTo(3L << 56);
        assertThatThrownBy(() -> new ExpertShape(MAX, MAX, MAX))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("count x hiddenSize x intermediateSize: expected at most 2^56 weights but was " + MAX
                        + " x " + MAX + " x " + MAX);
    }

    @Test
    void aMatrixWithoutColumnsAsksForNoRow() {
        RowSource refusing = new RowSource() {
            @Override
            public void read(int row, float[] into) {
                throw new AssertionError("asked for row " + row);
            }

            @Override
            public void read(int row, double[] into) {
                throw new AssertionError("asked for row " + row);
            }
        };
        assertThat(ReferenceBackend.instance().matrix(MAX, 0, refusing).rows()).isEqualTo(MAX);
        assertThat(ReferenceBackend.instance().matrix(0, MAX, refusing).columns())
                .isEqualTo(MAX);
    }

    @Test
    void aTokenThatThereIsNotIsNamed() {
        Routing routing = Routing.of(4, 2, new int[] {0, 1, 2, 3}, new double[4]);
        for (int token : new int[] {-1, 2, MAX, Integer.MIN_VALUE}) {
            assertThatThrownBy(() -> routing.expert(token, 0))
                    .isExactlyInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("Index " + token + " out of bounds for length 2");
        }
    }

    @Test
    void aLongWordIsComparedWithNothing() {
        assertThat(Spelling.closest("x".repeat(10_000_000), List.of("experts", "router")))
                .isEmpty();
        assertThat(Spelling.closest("exprets", List.of("experts", "router"))).contains("experts");
    }
}
