package org.moe4j.core.testing.standin;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;

/**
 * A backend with one fault, for tests of what has to find it. It says that it is of single precision, rounds what it is given to
 * that, and computes in double: so a fault that is just below a tolerance stays below it, and one just above stays above.
 */
public final class FaultyBackend extends StandIn {
    /** What is wrong. The size says how much, where it can be more or less. */
    public enum Fault {
        /** Nothing: what a check says of this backend is due to the others' fault alone. */
        NONE,
        /** The last element of a product is off by so many times {@code 2·√k·u·Σ|a||b|}. */
        PRODUCT,
        /** The same of a product over rows. */
        PRODUCT_OVER_ROWS,
        /** The last gathered row is zeros. */
        ROW_LOST,
        /** The first two gathered rows have changed places. */
        ROWS_SWAPPED,
        /** The last addend of a sum of rows that has several is missing: a lost update. */
        ADDEND_LOST,
        /** The first element of a sum of rows is off by the size. */
        SUM,
        /** The last row of what is accumulated is missing. */
        UPDATE_LOST,
        /** The derivatives of activations are too large, by the size, relatively. */
        DERIVATIVE,
        /** One value of activations is not a number. */
        NOT_A_NUMBER
    }

    private static final double U = 0x1p-24;

    private final Fault fault;
    private final double size;

    public FaultyBackend(Fault fault, double size) {
        this.fault = fault;
        this.size = size;
    }

    @Override
    Object kernel(Method method, Object[] arguments) throws ReflectiveOperationException {
        Object[] changed = arguments.clone();
        change(method.getName(), changed);
        Object right = method.invoke(REFERENCE, changed);
        return switch (method.getName()) {
            case "unitRoundoff" -> U;
            case "matrix" -> rounded((Matrix) right);
            case "groupedMatmul", "groupedMatmulTransB" ->
                fault == Fault.PRODUCT ? product((Matrix) right, method.getName(), arguments) : right;
            case "groupedMatmulTransA" ->
                fault == Fault.PRODUCT_OVER_ROWS ? overRows((List<?>) right, arguments) : right;
            case "gatherRows" -> gathered((Matrix) right);
            case "sumRows" -> fault == Fault.SUM ? added((Matrix) right, 0, size) : right;
            case "activate" -> fault == Fault.NOT_A_NUMBER ? added((Matrix) right, 0, Double.NaN) : right;
            case "activateBackward" -> fault == Fault.DERIVATIVE ? larger((Projections) right) : right;
            default -> right;
        };
    }

    /** Faults of what goes in. */
    private void change(String kernel, Object[] arguments) {
        if (kernel.equals("sumRows") && fault == Fault.ADDEND_LOST) {
            arguments[1] = withoutLast((int[]) arguments[1], (Integer) arguments[3]);
        }
        if (kernel.equals("accumulate") && fault == Fault.UPDATE_LOST) {
            Matrix a = (Matrix) arguments[3];
            double[] values = a.toArray();
            for (int i = Math.max(0, a.rows() - 1) * a.columns(); i < values.length; i++) {
                values[i] = 0;
            }
            arguments[3] = REFERENCE.matrix(a.rows(), a.columns(), values);
        }
        if (kernel.equals("accumulateMatmulTransA") && fault == Fault.UPDATE_LOST) {
            Map<Object, Object> all = new LinkedHashMap<>((Map<?, ?>) arguments[3]);
            all.keySet().stream().max((a, b) -> (Integer) a - (Integer) b).ifPresent(all::remove);
            arguments[3] = all;
        }
    }

    private static int[] withoutLast(int[] rows, int perRow) {
        int[] without = rows.clone();
        for (int first = 0; first < rows.length; first += perRow) {
            int last = -1;
            int count = 0;
            for (int slot = first; slot < first + perRow; slot++) {
                count += rows[slot] >= 0 ? 1 : 0;
                last = rows[slot] >= 0 ? slot : last;
            }
            if (count > 1) {
                without[last] = -1;
                return without;
            }
        }
        return without;
    }

    private static Matrix rounded(Matrix right) {
        double[] values = right.toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) values[i];
        }
        return REFERENCE.matrix(right.rows(), right.columns(), values);
    }

    /** One element more, where there is one. */
    private static Matrix added(Matrix right, int at, double more) {
        double[] values = right.toArray();
        if (at >= 0 && at < values.length) {
            values[at] += more;
        }
        return REFERENCE.matrix(right.rows(), right.columns(), values);
    }

    private Matrix product(Matrix right, String kernel, Object[] arguments) {
        Matrix a = (Matrix) arguments[0];
        RowGroups groups = (RowGroups) arguments[1];
        int row = right.rows() - 1;
        int column = right.columns() - 1;
        if (row < 0 || column < 0) {
            return right;
        }
        int group = groups.count() - 1;
        while (groups.size(group) == 0) {
            group--;
        }
        Matrix b = (Matrix) ((List<?>) arguments[2]).get(group);
        double gauge = 0;
        for (int k = 0; k < a.columns(); k++) {
            double other = kernel.endsWith("TransB") ? b.get(column, k) : b.get(k, column);
            gauge += Math.abs(a.get(row, k) * other);
        }
        return added(right, row * right.columns() + column, size * 2 * Math.sqrt(a.columns()) * U * gauge);
    }

    private List<Matrix> overRows(List<?> right, Object[] arguments) {
        Matrix a = (Matrix) arguments[0];
        Matrix b = (Matrix) arguments[1];
        RowGroups groups = (RowGroups) arguments[2];
        List<Matrix> products = new ArrayList<>();
        for (int g = 0; g < groups.count(); g++) {
            Matrix product = (Matrix) right.get(g);
            int last = product.rows() * product.columns() - 1;
            double gauge = 0;
            for (int row = groups.from(g); last >= 0 && row < groups.to(g); row++) {
                gauge += Math.abs(a.get(row, a.columns() - 1) * b.get(row, b.columns() - 1));
            }
            products.add(added(product, last, size * 2 * Math.sqrt(groups.size(g)) * U * gauge));
        }
        return products;
    }

    private Matrix gathered(Matrix right) {
        double[] values = right.toArray();
        int columns = right.columns();
        if (fault == Fault.ROW_LOST) {
            for (int i = Math.max(0, right.rows() - 1) * columns; i < values.length; i++) {
                values[i] = 0;
            }
        }
        for (int i = 0; fault == Fault.ROWS_SWAPPED && right.rows() > 1 && i < columns; i++) {
            double first = values[i];
            values[i] = values[columns + i];
            values[columns + i] = first;
        }
        return REFERENCE.matrix(right.rows(), columns, values);
    }

    private Projections larger(Projections right) {
        return new Projections(right.gate().map(this::larger), larger(right.up()));
    }

    private Matrix larger(Matrix right) {
        double[] values = right.toArray();
        for (int i = 0; i < values.length; i++) {
            values[i] *= 1 + size;
        }
        return REFERENCE.matrix(right.rows(), right.columns(), values);
    }
}
