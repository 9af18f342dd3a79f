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

/** A backend of its own that lets the reference work, with room for something in between. */
abstract class StandIn {
    static final Backend REFERENCE = ReferenceBackend.instance();

    private final Backend backend = (Backend) Proxy.newProxyInstance(
            Backend.class.getClassLoader(),
            new Class<?>[] {Backend.class},
            (self, method, arguments) -> call(self, method, arguments == null ? new Object[0] : arguments));

    public final Backend backend() {
        return backend;
    }

    /** One kernel call on matrices of the reference. */
    abstract Object kernel(Method method, Object[] arguments) throws ReflectiveOperationException;

    /** A kernel gives this, or this is part of it. */
    void made(Matrix result) {}

    /** A handle is made. */
    void opened() {}

    /** A handle is closed for the first time. */
    void closed() {}

    /** So many elements are copied to an array. */
    void copied(int elements) {}

    private Object call(Object self, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("equals")) {
            return self == arguments[0];
        }
        if (method.isDefault()) { // made of calls that come here
            return InvocationHandler.invokeDefault(self, method, arguments);
        }
        Object[] inner = arguments.clone();
        for (int i = 0; i < inner.length; i++) {
            inner[i] = inside(inner[i]);
        }
        try {
            return outside(kernel(method, inner));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private Object inside(Object argument) {
        if (argument instanceof Wrapped wrapped && wrapped.backend() == backend) {
            return wrapped.inner;
        }
        if (argument instanceof List<?> list) {
            return list.stream().map(this::inside).toList();
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

    private Object outside(Object result) {
        if (result instanceof Matrix matrix) {
            made(matrix);
            return new Wrapped(matrix);
        }
        if (result instanceof List<?> list) {
            return list.stream().map(this::outside).toList();
        }
        if (result instanceof Projections projections) {
            return new Projections(
                    projections.gate().map(gate -> (Matrix) outside(gate)), (Matrix) outside(projections.up()));
        }
        return result;
    }

    private final class Wrapped implements Matrix {
        private final Matrix inner;
        private boolean closed;

        Wrapped(Matrix inner) {
            this.inner = inner;
            opened();
        }

        @Override
        public void close() {
            if (!closed) {
                closed();
            }
            closed = true;
            inner.close();
        }

        @Override
        public Matrix share() {
            return new Wrapped(inner.share());
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
            copied(rows() * columns());
            return inner.toArray();
        }
    }
}
