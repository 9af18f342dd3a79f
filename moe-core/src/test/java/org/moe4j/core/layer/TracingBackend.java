package org.moe4j.core.layer;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.reference.ReferenceBackend;

/**
 * The reference backend, its banks made of elementary kernels, with a count of the handles that are open, a list of the shapes
 * that were made, and a kernel call that fails when it is told to.
 */
final class TracingBackend {
    /** What a failing kernel throws. */
    static final class Failure extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private final Backend reference = ReferenceBackend.instance();
    private final Backend backend = (Backend)
            Proxy.newProxyInstance(Backend.class.getClassLoader(), new Class<?>[] {Backend.class}, this::call);
    private final List<String> made = new ArrayList<>();
    private int open;
    private int calls;
    private int callsLeft = Integer.MAX_VALUE;

    Backend backend() {
        return backend;
    }

    /** Handles that nobody has closed. */
    int open() {
        return open;
    }

    /** Kernels called so far. */
    int calls() {
        return calls;
    }

    /** Shapes made since the last call, as {@code 3x4}. */
    List<String> made() {
        List<String> shapes = List.copyOf(made);
        made.clear();
        return shapes;
    }

    /** Every call but the first few fails; a negative number heals. */
    void failAfter(int count) {
        callsLeft = count < 0 ? Integer.MAX_VALUE : count;
    }

    private Object call(Object self, Method method, Object[] given) throws Throwable {
        Object[] arguments = given == null ? new Object[0] : given;
        if (method.getName().equals("equals")) {
            return self == arguments[0];
        }
        if (method.isDefault()) {
            return InvocationHandler.invokeDefault(self, method, arguments); // it calls kernels
        }
        if (method.getReturnType() != String.class && callsLeft-- == 0) {
            callsLeft = 0;
            throw new Failure();
        }
        calls++;
        try {
            Object[] inner = new Object[arguments.length];
            for (int i = 0; i < inner.length; i++) {
                inner[i] = mapped(arguments[i], TracingBackend::unwrapped);
            }
            return mapped(method.invoke(reference, inner), this::wrapped);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Matrix unwrapped(Matrix matrix) {
        return matrix instanceof Traced traced ? traced.inner : matrix;
    }

    private Matrix wrapped(Matrix matrix) {
        made.add(matrix.rows() + "x" + matrix.columns());
        return new Traced(matrix);
    }

    /** An argument or a result with all its matrices exchanged. */
    private static Object mapped(Object value, UnaryOperator<Matrix> each) throws ReflectiveOperationException {
        if (value instanceof Matrix matrix) {
            return each.apply(matrix);
        }
        if (value instanceof Optional<?> optional) {
            return optional.isEmpty() ? optional : Optional.of(mapped(optional.get(), each));
        }
        if (value instanceof List<?> list) {
            List<Object> all = new ArrayList<>();
            for (Object one : list) {
                all.add(mapped(one, each));
            }
            return all;
        }
        if (value instanceof Map<?, ?> map) {
            Map<Object, Object> all = new LinkedHashMap<>();
            for (Map.Entry<?, ?> one : map.entrySet()) {
                all.put(one.getKey(), mapped(one.getValue(), each));
            }
            return all;
        }
        if (!(value instanceof Projections several)) {
            return value;
        }
        RecordComponent[] components = Projections.class.getRecordComponents();
        Object[] values = new Object[components.length];
        Class<?>[] types = new Class<?>[components.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = mapped(components[i].getAccessor().invoke(several), each);
            types[i] = components[i].getType();
        }
        return Projections.class.getDeclaredConstructor(types).newInstance(values);
    }

    private final class Traced implements Matrix {
        private final Matrix inner;
        private boolean closed;

        Traced(Matrix inner) {
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
            return new Traced(inner.share());
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
            return inner.toArray();
        }
    }
}
