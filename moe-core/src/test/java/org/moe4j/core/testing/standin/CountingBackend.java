package org.moe4j.core.testing.standin;

import java.lang.reflect.Method;

/** The reference backend with a count of the handles that are open, and a kernel call that fails when it is told to. */
public final class CountingBackend extends StandIn {
    /** What a failing kernel throws. */
    public static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private int open;
    private int largestCopy;
    private int callsLeft = Integer.MAX_VALUE;

    public int open() {
        return open;
    }

    /** Elements of the largest matrix that was copied to an array. */
    public int largestCopy() {
        return largestCopy;
    }

    /** Every call but the first few fails. */
    public void failAfter(int calls) {
        callsLeft = calls;
    }

    @Override
    Object kernel(Method method, Object[] arguments) throws ReflectiveOperationException {
        if (callsLeft-- == 0) {
            throw new Failure();
        }
        return method.invoke(REFERENCE, arguments);
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
