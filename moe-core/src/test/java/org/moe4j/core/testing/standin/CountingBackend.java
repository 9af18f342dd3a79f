package org.moe4j.core.testing.standin;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
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
        if (method.isDefault()) { // made of calls that are counted
            return InvocationHandler.invokeDefault(self, method, arguments);
        }
        if (callsLeft-- == 0) {
            throw new Failure();
        }
        Object[] inner = arguments.clone();
        for (int i = 0; i < inner.length; i++) {
            inner[i] = inside(inner[i]);
        }
        try {
            return counted(method.invoke(reference, inner));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Object inside(Object argument) {
        if (argument instanceof Counted counted) {
            return counted.inner;
        }
        if (argument instanceof List<?> list) {
            return list.stream().map(CountingBackend::inside).toList();
        }
        if (argument instanceof Map<?, ?> map) {
            Map<Object, Object> inner = new LinkedHashMap<>();
            map.forEach((key, value) -> inner.put(key, inside(value)));
            return inner;
        }
        if (argument instanceof Projections projections) {
            return new Projections(
                    projections.gate().map(gate -> (Matrix) inside(gate)), (Matrix) inside(projections.up()));
        }
        return argument;
    }

    private Object counted(Object result) {
        if (result instanceof Matrix matrix) {
            return new Counted(matrix);
        }
        if (result instanceof List<?> list) {
            return list.stream().map(this::counted).toList();
        }
        if (result instanceof Projections projections) {
            return new Projections(projections.gate().map(Counted::new), new Counted(projections.up()));
        }
        return result;
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
        public boolean isBuffer() {
            return inner.isBuffer();
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
