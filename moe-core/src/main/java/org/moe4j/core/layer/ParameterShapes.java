package org.moe4j.core.layer;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/** Names and shapes of a layer's parameters, for checks before any work. */
final class ParameterShapes {
    private record Shape(int rows, int columns) {}

    private final Map<String, Shape> shapes = new LinkedHashMap<>();

    ParameterShapes(Parameters parameters, Backend backend) {
        for (String name : parameters.names()) {
            Matrix value = parameters.get(name);
            KernelChecks.owner(name, value, backend);
            shapes.put(name, new Shape(value.rows(), value.columns()));
        }
    }

    Set<String> names() {
        return Collections.unmodifiableSet(shapes.keySet());
    }

    /** Handles of their own on all matrices of a set; closed when not all of them are open. */
    static Parameters shared(Parameters parameters, Unfinished made) {
        return parameters.map((name, matrix) -> made.add(matrix.share()));
    }

    /** Refuses a request for gradients unless every wanted name has a buffer of its own, of its parameter's shape. */
    void requireBuffers(Set<String> wanted, Parameters into, Backend backend) {
        IdentityHashMap<Matrix, String> taken = new IdentityHashMap<>();
        for (String name : wanted) {
            Shape shape = shapes.get(name);
            if (shape == null) {
                throw unknown(name);
            }
            if (!into.names().contains(name)) {
                throw Require.expected("into", "a buffer named " + name, "a set without it");
            }
            Matrix buffer = into.get(name);
            KernelChecks.owner("into." + name, buffer, backend);
            KernelChecks.buffer("into." + name, buffer, shape.rows(), shape.columns(), "shape of " + name);
            Require.once("into." + name, buffer, taken);
        }
    }

    /** Without a list: a layer of hundreds of experts has thousands of names. */
    private IllegalArgumentException unknown(String name) {
        String expected = "names of the layer's parameters";
        return Spelling.closest(name, shapes.keySet())
                .map(right -> Require.expected("wanted", expected, name, "did you mean " + right + "?"))
                .orElseGet(() -> Require.expected("wanted", expected, name, "MoeLayer.parameters() has all of them"));
    }
}
