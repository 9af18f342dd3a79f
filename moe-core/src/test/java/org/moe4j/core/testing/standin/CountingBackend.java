package org.moe4j.core.testing.standin;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Matrix;

/** The reference backend with a count of handles and calls, a list of the shapes made, and kernel calls that fail when they are told to. */
public final class CountingBackend extends StandIn {
    /** What a failing kernel throws. */
    public static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private final List<String> made = new ArrayList<>();
    private int open;
    private int calls;
    private int largestCopy;
    private int callsLeft = Integer.MAX_VALUE;

    /** Handles that nobody has closed. */
    public int open() {
        return open;
    }

    /** Kernels called so far. */
    public int calls() {
        return calls;
    }

    /** Shapes of the kernels' results since the last call, as {@code 3x4}. */
    public List<String> made() {
        List<String> shapes = List.copyOf(made);
        made.clear();
        return shapes;
    }

    /** Elements of the largest matrix that was copied to an array. */
    public int largestCopy() {
        return largestCopy;
    }

    /** Every call but the first few fails. */
    public void failAfter(int calls) {
        callsLeft = calls;
    }

    /** No call fails any more. */
    public void heal() {
        callsLeft = Integer.MAX_VALUE;
    }

    @Override
    Object kernel(Method method, Object[] arguments) throws ReflectiveOperationException {
        if (callsLeft == 0) {
            throw new Failure();
        }
        callsLeft--;
        calls++;
        return method.invoke(REFERENCE, arguments);
    }

    @Override
    void made(Matrix result) {
        made.add(result.rows() + "x" + result.columns());
    }

    @Override
    void opened() {
        open++;
    }

    @Override
    void closed() {
        open--;
    }

    @Override
    void copied(int elements) {
        largestCopy = Math.max(largestCopy, elements);
    }
}
