package org.moe4j.merge;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.reference.ReferenceBackend;

/** The reference backend with a count of the handles that are open, and a kernel call that fails when it is told to. */
public final class CountingBackend {
    /** What a failing kernel throws. */
    public static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private final Backend reference = ReferenceBackend.instance();
    private final Backend backend = (Backend) Proxy.newProxyInstance(
            Backend.class.getClassLoader(),
            new Class<?>[] {Backend.class},
            (self, method, arguments) -> call(self, method, arguments == null ? new Object[0] : arguments));
    private int open;
    private int largestCopy;
    private int callsLeft = Integer.MAX_VALUE;

    public Backend backend() {
        return backend;
    }

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

    private Object call(Object self, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("equals")) {
            return self == arguments[0];
        }
        if (callsLeft-- == 0) {
            throw new Failure();
        }
        if (method.getName().equals("prepare")) { // its weights are handles of this backend
            return InvocationHandler.invokeDefault(self, method, arguments);
        }
        Object[] inner = arguments.clone();
        for (int i = 0; i < inner.length; i++) {
            inner[i] = inner[i] instanceof Counted counted ? counted.inner : inner[i];
        }
        try {
            Object result = method.invoke(reference, inner);
            return result instanceof Matrix matrix ? new Counted(matrix) : result;
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private final class Counted implements Matrix {
        private final Matrix inner;
        private boolean closed;

        Counted(Matrix inner) {
            this.inner = inner;
            open++;
        }

        @Override
        public void close() {
            open -= closed ? 0 : 1;
            closed = true;
            inner.close();
        }

        @Override
        public Matrix share() {
            return new Counted(inner.share());
        }

        @Override
        public Backend backend() {
            return backend;
        }

        @Override
        public int rows() {
            return inner.rows();
        }

        @Override
        public int columns() {
            return inner.columns();
        }

        @Override
        public double get(int row, int column) {
            return inner.get(row, column);
        }

        @Override
        public double[] toArray() {
            largestCopy = Math.max(largestCopy, rows() * columns());
            return inner.toArray();
        }
    }
}
