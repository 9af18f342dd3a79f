package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SelfCheckTest {
    private static final SelfCheck<float[]> CHECK = new SelfCheck<>(FloatNumbers.INSTANCE);

    /** Panels whose kernel of one shape is wrong in the last bit of one output. */
    private record Wrong(Panels<float[]> right, int rows, int panels, int output) implements Panels<float[]> {
        @Override
        public String kind() {
            return right.kind();
        }

        @Override
        public int inner() {
            return right.inner();
        }

        @Override
        public int count() {
            return right.count();
        }

        @Override
        public void multiply(int rows, float[] x, int xAt, int panel, int panels, float[] y, int yAt, int yStep) {
            right.multiply(rows, x, xAt, panel, panels, y, yAt, yStep);
            if (rows == this.rows && panels == this.panels) {
                y[yAt + output] = Math.nextUp(y[yAt + output]);
            }
        }

        @Override
        public double get(int panel, int k, int column) {
            return right.get(panel, k, column);
        }

        @Override
        public void column(int panel, int column, float[] into, int at) {
            right.column(panel, column, into, at);
        }

        @Override
        public Piece<float[]> piece(int panel, int panels, int fromTerm, int toTerm, Scratch<float[]> scratch) {
            return right.piece(panel, panels, fromTerm, toTerm, scratch);
        }
    }

    @Test
    void theKernelsOfThisJvmAreRight() {
        assertThat(SelfCheck.fault()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"1,1", "1,4", "2,1", "2,4", "4,1", "4,2", "8,1"})
    void oneWrongBitOfAnyShapeIsFound(int rows, int panels) {
        int last = rows * panels * FloatNumbers.INSTANCE.panel() - 1;
        for (int output : new int[] {0, last}) {
            assertThat(CHECK.multiplies("float32", new Wrong(CHECK.plain(), rows, panels, output)))
                    .hasValueSatisfying(fault -> assertThat(fault)
                            .startsWith("float32, " + rows + " rows, " + panels + " panels: expected ")
                            .contains(" but was "));
            for (boolean bfloat16 : new boolean[] {true, false}) {
                assertThat(CHECK.multiplies("half", new Wrong(CHECK.halves(bfloat16), rows, panels, output)))
                        .isPresent();
            }
        }
    }

    /** Panels with one wrong weight, seen by gradients alone. */
    @SuppressWarnings("unchecked")
    private static Panels<float[]> wrongPieces(Panels<float[]> right) {
        return (Panels<float[]>) Proxy.newProxyInstance(
                Panels.class.getClassLoader(), new Class<?>[] {Panels.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(right, arguments);
                    if (result instanceof Panels.Piece<?> piece) {
                        float[] values = ((float[]) piece.values()).clone();
                        values[piece.at()]++;
                        return new Panels.Piece<>(values, piece.at(), piece.panelStep());
                    }
                    return result;
                });
    }

    @Test
    void oneWrongWeightOfGradientsIsFound() {
        for (Panels<float[]> right : List.of(CHECK.plain(), CHECK.halves(true), CHECK.halves(false))) {
            assertThat(CHECK.goesThrough("right", right)).isEmpty();
            assertThat(CHECK.goesThrough("wrong", wrongPieces(right)))
                    .hasValueSatisfying(fault -> assertThat(fault).startsWith("wrong gradients, 1 rows"));
        }
    }

    @Test
    void theWarningIsOneLineThatNamesCpuJvmAndAWayOut() {
        assertThat(SelfCheck.warning("float32, 1 rows"))
                .doesNotContain("\n")
                .startsWith("VectorBackend is not used: its kernels are wrong here (float32, 1 rows), on ")
                .contains(" bits, " + System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"))
                .contains("use another JDK, or nd4j");
    }
}
