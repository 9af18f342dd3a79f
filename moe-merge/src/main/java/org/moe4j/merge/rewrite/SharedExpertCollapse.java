package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.internal.Require;

/**
 * Exact rewrites of ungated shared experts (Section 20 of the report on Olmo's MoE recipe): their sum is one wider expert,
 * and a wide expert is the sum of its parts. The weights move, none of them is computed, so that every bit survives.
 *
 * <p>The experts must add with one and the same coefficient per token. Coefficients that differ by expert and vary with
 * the input (Equation 78) cannot be collapsed.
 */
public final class SharedExpertCollapse {
    private SharedExpertCollapse() {}

    /**
     * One expert that computes the sum of several: {@code E*(x) = Σ_j E_j(x)}, of width {@code Σ_j m_j} (Equations 75 and
     * 76). Its gate and up projections are those of the experts below one another, its down projection theirs side by side.
     *
     * @param experts at least one; gate, up (m_j×D), down (D×m_j), all of one hidden size and one backend
     * @return gate, up (Σm_j×D), down (D×Σm_j); handles of the caller
     * @throws IllegalArgumentException when the list is empty, or hidden sizes or backends differ
     */
    public static SwiGluWeights concatenate(List<SwiGluWeights> experts) {
        if (experts.isEmpty()) {
            throw Require.expected("experts", "at least 1 expert", "an empty list");
        }
        int hidden = experts.get(0).hiddenSize();
        Backend backend = experts.get(0).gate().backend();
        long width = 0;
        for (int j = 0; j < experts.size(); j++) {
            SwiGluWeights expert = experts.get(j);
            Require.count("experts[" + j + "]", expert.hiddenSize(), hidden, "as hidden size (of experts[0])");
            KernelChecks.owner("experts[" + j + "]", expert.gate(), backend);
            width += expert.intermediateSize();
        }
        int[] from = new int[experts.size() + 1];
        int[] owner = owners(experts, from, width);
        return new SwiGluWeights(
                below(experts.stream().map(SwiGluWeights::gate).toList(), from, owner),
                below(experts.stream().map(SwiGluWeights::up).toList(), from, owner),
                beside(experts.stream().map(SwiGluWeights::down).toList(), from, owner));
    }

    /** Which expert each of the Σm_j intermediate units comes from; {@code from} gets the first unit of each expert. */
    private static int[] owners(List<SwiGluWeights> experts, int[] from, long width) {
        if (width > Integer.MAX_VALUE) {
            throw Require.expected("experts", "at most 2^31 - 1 intermediate units in all", width);
        }
        int[] owner = new int[(int) width];
        for (int j = 0; j < experts.size(); j++) {
            from[j + 1] = from[j] + experts.get(j).intermediateSize();
            Arrays.fill(owner, from[j], from[j + 1], j);
        }
        return owner;
    }

    private static Matrix below(List<Matrix> parts, int[] from, int[] owner) {
        int columns = parts.get(0).columns();
        List<double[]> values = parts.stream().map(Matrix::toArray).toList();
        return parts.get(0).backend().matrix(owner.length, columns, elements((row, column) -> {
            int j = owner[row];
            return values.get(j)[(row - from[j]) * columns + column];
        }));
    }

    private static Matrix beside(List<Matrix> parts, int[] from, int[] owner) {
        List<double[]> values = parts.stream().map(Matrix::toArray).toList();
        return parts.get(0).backend().matrix(parts.get(0).rows(), owner.length, elements((row, column) -> {
            int j = owner[column];
            return values.get(j)[row * (from[j + 1] - from[j]) + column - from[j]];
        }));
    }

    /**
     * The inverse of {@link #concatenate}: several experts whose sum is the given one. Any widths that add up to its own
     * give the same function.
     *
     * @param wide gate, up (F×D), down (D×F)
     * @param widths m_j, at least 1 each, F in all
     * @return one expert per width, gate, up (m_j×D), down (D×m_j); handles of the caller
     * @throws IllegalArgumentException when a width is below 1 or the widths do not add up to F
     */
    public static List<SwiGluWeights> split(SwiGluWeights wide, int... widths) {
        long sum = 0;
        for (int j = 0; j < widths.length; j++) {
            sum += Require.atLeast("widths[" + j + "]", widths[j], 1);
        }
        Require.count("widths", sum, wide.intermediateSize(), "in all (intermediate size)");
        double[] gate = wide.gate().toArray();
        double[] up = wide.up().toArray();
        double[] down = wide.down().toArray();
        List<SwiGluWeights> experts = new ArrayList<>(widths.length);
        int from = 0;
        for (int width : widths) {
            experts.add(part(wide, gate, up, down, from, width));
            from += width;
        }
        return List.copyOf(experts);
    }

    private static SwiGluWeights part(
            SwiGluWeights wide, double[] gate, double[] up, double[] down, int from, int width) {
        Backend backend = wide.gate().backend();
        int hidden = wide.hiddenSize();
        int all = wide.intermediateSize();
        return new SwiGluWeights(
                backend.matrix(width, hidden, elements((row, column) -> gate[(from + row) * hidden + column])),
                backend.matrix(width, hidden, elements((row, column) -> up[(from + row) * hidden + column])),
                backend.matrix(hidden, width, elements((row, column) -> down[row * all + from + column])));
    }

    /** The element of a matrix at a place. */
    interface Element {
        double at(int row, int column);
    }

    /** Rows made of elements; a value that was single precision is so again, exactly. */
    static RowSource elements(Element element) {
        return new RowSource() {
            @Override
            public void read(int row, float[] into) {
                for (int column = 0; column < into.length; column++) {
                    into[column] = (float) element.at(row, column);
                }
            }

            @Override
            public void read(int row, double[] into) {
                for (int column = 0; column < into.length; column++) {
                    into[column] = element.at(row, column);
                }
            }
        };
    }
}
