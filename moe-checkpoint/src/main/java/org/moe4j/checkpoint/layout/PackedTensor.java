package org.moe4j.checkpoint.layout;

import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;

/**
 * The values of a tensor that one or more parts share, as rows of its last axis: the inverse of {@link PartSource}. Where a row goes
 * across the rows of a matrix, the whole matrix is held meanwhile, until the last row was read.
 */
final class PackedTensor implements RowSource {
    private final List<Member> members;
    private final List<Axis> axes;
    private final long[] lengths;
    private final long rows;

    /** A part that has elements in the tensor, and its matrices. */
    static final class Member {
        private final LayerPart part;
        private final List<Axis> axes;
        private final int[] own;
        private final PartMatrices matrices;
        private int expert = -1;
        private Optional<double[]> values = Optional.empty();
        private int columns;

        Member(LayerPart part, TensorPattern pattern, Sizes sizes, PartMatrices matrices) {
            this.part = part;
            this.axes = pattern.axes();
            this.matrices = matrices;
            own = axes.stream().mapToInt(axis -> sizes.of(axis.letter(), part)).toArray();
        }

        /** The element at these coordinates of the tensor, if it is this part's. */
        Optional<Double> at(long[] coordinates) {
            int row = 0;
            int column = 0;
            int of = 0;
            for (int i = 0; i < own.length; i++) {
                Axis axis = axes.get(i);
                long from = coordinates[i] - axis.first(own[i]);
                if (from < 0 || from % axis.step() != 0 || from / axis.step() >= own[i]) {
                    return Optional.empty();
                }
                int index = (int) (from / axis.step());
                if (axis.letter() == part.rows()) {
                    row = index;
                } else if (axis.letter() == part.columns()) {
                    column = index;
                } else if (axis.letter() == 'E') {
                    of = index;
                }
            }
            return Optional.of(values(of)[row * columns + column]);
        }

        private int extent(char letter) {
            for (int i = 0; i < own.length; i++) {
                if (axes.get(i).letter() == letter) {
                    return own[i];
                }
            }
            return 1;
        }

        private double[] values(int of) {
            if (of != expert || values.isEmpty()) {
                try (Matrix matrix = matrices.of(part, of)) {
                    Require.count("columns of " + part.key(), matrix.columns(), extent(part.columns()), "(its tensor)");
                    Require.count("rows of " + part.key(), matrix.rows(), extent(part.rows()), "(its tensor)");
                    values = Optional.of(matrix.toArray());
                    columns = matrix.columns();
                    expert = of;
                }
            }
            return values.orElseThrow();
        }

        /** A file has many tensors: those that are written may not stay in memory. */
        private void forget() {
            values = Optional.empty();
        }
    }

    /** The members have one shape, and together every element. */
    PackedTensor(List<Member> members, List<Axis> axes, List<Long> shape) {
        this.members = members;
        this.axes = axes;
        lengths = shape.stream().mapToLong(size -> size).toArray();
        rows = LongStream.of(lengths).limit(Math.max(0, lengths.length - 1)).reduce(1, (a, b) -> a * b);
    }

    @Override
    public void read(int row, float[] into) {
        double[] wide = new double[into.length];
        read(row, wide);
        for (int j = 0; j < into.length; j++) {
            into[j] = (float) wide[j];
        }
    }

    @Override
    public void read(int row, double[] into) {
        long[] coordinates = new long[axes.size()];
        long rest = row;
        for (int i = lengths.length - 2; i >= 0; i--) {
            coordinates[i] = rest % lengths[i];
            rest /= lengths[i];
        }
        for (int j = 0; j < into.length; j++) {
            coordinates[lengths.length - 1] = j;
            into[j] = element(coordinates);
        }
        if (row == rows - 1) {
            members.forEach(Member::forget);
        }
    }

    private double element(long[] coordinates) {
        for (Member member : members) {
            Optional<Double> value = member.at(coordinates);
            if (value.isPresent()) {
                return value.get();
            }
        }
        throw new IllegalStateException("layout: expected parts that cover the tensor");
    }
}
