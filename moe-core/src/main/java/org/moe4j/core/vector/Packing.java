package org.moe4j.core.vector;

import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.vector.tile.Shapes;

/** Makes panels of rows. */
final class Packing {

    /** Numbers of a row that are moved at once: those of all rows of a panel stay in the first cache. */
    private static final int PIECE = 64;

    private Packing() {}

    /**
     * Where a row stands.
     *
     * @param array in which
     * @param at its first number
     */
    record Row<A>(A array, int at) {}

    static int panels(int outputs, int panel) {
        return (outputs + panel - 1) / panel;
    }

    /** Panels in the precision of the sums; output o is column {@code o % P} of panel {@code o / P}. */
    static <A> Panels<A> plain(Numbers<A> numbers, int inner, int outputs, IntFunction<Row<A>> rows) {
        int width = numbers.panel();
        int count = panels(outputs, width);
        A values = numbers.array(Math.multiplyExact(count, Math.multiplyExact(inner, width)));
        for (int panel = 0; panel < count; panel++) {
            int first = panel * width;
            List<Row<A>> columns = IntStream.range(first, Math.min(outputs, first + width))
                    .mapToObj(rows)
                    .toList();
            for (int k = 0; k < inner; k += PIECE) {
                int here = Math.min(PIECE, inner - k);
                for (int c = 0; c < columns.size(); c++) {
                    Row<A> row = columns.get(c);
                    numbers.scatter(row.array(), row.at() + k, values, (panel * inner + k) * width + c, width, here);
                }
            }
        }
        return new PlainPanels<>(numbers, values, inner, count);
    }

    /** The same of 16-bit numbers, which all have to be such. */
    static Panels<float[]> halves(boolean bfloat16, int inner, int outputs, IntFunction<Row<float[]>> rows) {
        int width = Shapes.FLOAT_PANEL;
        int count = panels(outputs, width);
        short[] values = new short[Math.multiplyExact(count, Math.multiplyExact(inner, width))];
        for (int panel = 0; panel < count; panel++) {
            int first = panel * width;
            List<Row<float[]>> columns = IntStream.range(first, Math.min(outputs, first + width))
                    .mapToObj(rows)
                    .toList();
            for (int k = 0; k < inner; k += PIECE) {
                int here = Math.min(PIECE, inner - k);
                for (int c = 0; c < columns.size(); c++) {
                    Row<float[]> row = columns.get(c);
                    int at = (panel * inner + k) * width + HalfPanels.place(c);
                    scatter(bfloat16, row.array(), row.at() + k, values, at, width, here);
                }
            }
        }
        return new HalfPanels(bfloat16, values, inner, count);
    }

    private static void scatter(boolean bfloat16, float[] from, int at, short[] into, int intoAt, int step, int count) {
        for (int k = 0; k < count; k++) {
            float value = from[at + k];
            into[intoAt + k * step] = bfloat16 ? Halves.toBfloat16(value) : Halves.toFloat16(value);
        }
    }

    /** How a bank's weights are kept: all of its matrices in the same way. */
    @SuppressWarnings("unchecked")
    static <A> PackedBank.Packer<A> packer(Numbers<A> numbers, BankWeights weights, WeightStorage storage) {
        if (numbers == FloatNumbers.INSTANCE && storage == WeightStorage.EXACT) {
            for (boolean bfloat16 : new boolean[] {true, false}) {
                if (all(weights, bfloat16)) {
                    PackedBank.Packer<float[]> packer =
                            (inner, outputs, rows) -> halves(bfloat16, inner, outputs, rows);
                    return (PackedBank.Packer<A>) packer;
                }
            }
        }
        return packer(numbers);
    }

    /** Keeps weights in the precision of the sums. */
    static <A> PackedBank.Packer<A> packer(Numbers<A> numbers) {
        return (inner, outputs, rows) -> plain(numbers, inner, outputs, rows);
    }

    private static boolean all(BankWeights weights, boolean bfloat16) {
        for (BankPart part : new BankPart[] {BankPart.GATE, BankPart.UP, BankPart.DOWN}) {
            for (Matrix matrix : weights.parts().getOrDefault(part, List.of())) {
                for (float value : VectorMatrix.<float[]>content(matrix).array()) {
                    if (!(bfloat16 ? Halves.isBfloat16(value) : Halves.isFloat16(value))) {
                        return false;
                    }
                }
            }
        }
        return true;
    }
}
