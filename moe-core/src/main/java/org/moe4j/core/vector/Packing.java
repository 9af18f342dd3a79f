package org.moe4j.core.vector;

import java.util.List;
import java.util.function.IntFunction;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.vector.tile.Shapes;

/** Makes panels of rows. */
final class Packing {

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
        for (int output = 0; output < outputs; output++) {
            Row<A> row = rows.apply(output);
            numbers.scatter(
                    row.array(), row.at(), values, output / width * inner * width + output % width, width, inner);
        }
        return new PlainPanels<>(numbers, values, inner, count);
    }

    /** The same of 16-bit numbers, which all have to be such. */
    static Panels<float[]> halves(boolean bfloat16, int inner, int outputs, IntFunction<Row<float[]>> rows) {
        int width = Shapes.FLOAT_PANEL;
        int count = panels(outputs, width);
        short[] values = new short[Math.multiplyExact(count, Math.multiplyExact(inner, width))];
        for (int output = 0; output < outputs; output++) {
            Row<float[]> row = rows.apply(output);
            float[] from = row.array();
            int at = output / width * inner * width + HalfPanels.place(output % width);
            for (int k = 0; k < inner; k++) {
                float value = from[row.at() + k];
                values[at + k * width] = bfloat16 ? Halves.toBfloat16(value) : Halves.toFloat16(value);
            }
        }
        return new HalfPanels(bfloat16, values, inner, count);
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
