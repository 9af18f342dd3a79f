package org.moe4j.bench.layer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;

/**
 * A layer and its input as plain words and numbers: {@link TokenwiseLayer} computes it by its definition, {@link LibraryLayer}
 * builds a layer of the library from it.
 *
 * @param name what a failure calls it
 * @param sharedWidths of each shared expert
 * @param parameters by the library's names, as {@code router.weight} and {@code experts.3.gate}
 * @param dOutput gradient of the output: the loss is the sum of products with it
 */
record LayerCase(
        String name,
        Sizes sizes,
        RouterWords router,
        MergeWords merge,
        List<Integer> sharedWidths,
        Optional<Limit> limit,
        Map<String, Numbers> parameters,
        Numbers tokens,
        Numbers dOutput) {

    /** T, D, F. */
    record Sizes(int tokens, int hidden, int width) {}

    /**
     * A capacity.
     *
     * @param factor of the even share
     * @param rounding {@code up} or {@code down}
     */
    record Limit(double factor, String rounding) {}

    /** A matrix of plain numbers. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Numbers(int rows, int columns, double[] values) {
        Matrix on(Backend backend) {
            return backend.matrix(rows, columns, values);
        }
    }

    int sharedWidth() {
        return sharedWidths.stream().mapToInt(width -> width).sum();
    }

    /** A parameter, or the tokens. */
    Numbers number(String name) {
        return name.equals("tokens") ? tokens : parameters.get(name);
    }

    /** The same with other values of a parameter, or of the tokens. */
    LayerCase with(String name, double[] values) {
        Numbers moved = new Numbers(number(name).rows(), number(name).columns(), values);
        if (name.equals("tokens")) {
            return new LayerCase(this.name, sizes, router, merge, sharedWidths, limit, parameters, moved, dOutput);
        }
        Map<String, Numbers> changed = new HashMap<>(parameters);
        changed.put(name, moved);
        return new LayerCase(this.name, sizes, router, merge, sharedWidths, limit, changed, tokens, dOutput);
    }

    /** The same for other tokens, and another gradient of their outputs. */
    LayerCase with(Numbers otherTokens, Numbers otherGradient) {
        Sizes other = new Sizes(otherTokens.rows(), sizes.hidden(), sizes.width());
        return new LayerCase(name, other, router, merge, sharedWidths, limit, parameters, otherTokens, otherGradient);
    }

    /** Whether another router would select other experts for some token. */
    boolean selectsOtherwise(RouterWords other) {
        for (int t = 0; t < sizes.tokens(); t++) {
            double[] logits = TokenwiseLayer.logits(this, t);
            if (!TokenwiseRouter.selected(router, logits).equals(TokenwiseRouter.selected(other, logits))) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return name + ": " + sizes + ", " + router + ", " + merge + " with shared " + sharedWidths + ", " + limit;
    }
}
