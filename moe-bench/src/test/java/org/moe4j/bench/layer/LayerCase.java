package org.moe4j.bench.layer;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;

/**
 * A layer and its input as plain words and numbers: {@link TokenwiseLayer} computes it by its definition, {@link LibraryLayer}
 * builds a layer of the library from it.
 *
 * @param name what a failure calls it
 * @param parameters by the library's names, as {@code router.weight} and {@code experts.3.gate}
 * @param dOutput gradient of the output: the loss is the sum of products with it
 */
record LayerCase(
        String name,
        Sizes sizes,
        RouterWords router,
        Routed routed,
        Shared shared,
        MergeWords merge,
        Optional<CapacityWords> capacity,
        Training training,
        Map<String, Numbers> parameters,
        Numbers tokens,
        Numbers dOutput) {

    /** T, D, F. */
    record Sizes(int tokens, int hidden, int width) {}

    /**
     * The routed experts.
     *
     * @param latent width of their tokens; empty for the layer's
     * @param weightPlace {@code output} or {@code input}
     */
    record Routed(ExpertWords kind, OptionalInt latent, String weightPlace) {
        static final Routed SWIGLU = new Routed(ExpertWords.SWIGLU, OptionalInt.empty(), "output");

        boolean weighsInput() {
            return weightPlace.equals("input");
        }
    }

    /** The shared experts, and the width of each. */
    record Shared(ExpertWords kind, List<Integer> widths) {
        int width() {
            return widths.stream().mapToInt(width -> width).sum();
        }
    }

    /** What a layer is trained with, and one call in training. */
    record Training(NoiseWords noise, List<LossWords> losses, Situation situation, Draws draws) {
        static final Training NONE = new Training(NoiseWords.NONE, List.of(), Situation.PLAIN, Draws.NONE);
    }

    /** A matrix of plain numbers. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Numbers(int rows, int columns, double[] values) {
        Matrix on(Backend backend) {
            return backend.matrix(rows, columns, values);
        }
    }

    /** Width of the tokens of the routed experts. */
    int expertHidden() {
        return routed.latent().orElse(sizes.hidden());
    }

    /** A parameter, or the tokens. */
    Numbers number(String name) {
        return name.equals("tokens") ? tokens : parameters.get(name);
    }

    /** The same with other values of a parameter, or of the tokens. */
    LayerCase with(String name, double[] values) {
        Numbers moved = new Numbers(number(name).rows(), number(name).columns(), values);
        if (name.equals("tokens")) {
            return of(parameters, moved, dOutput);
        }
        Map<String, Numbers> changed = new HashMap<>(parameters);
        changed.put(name, moved);
        return of(changed, tokens, dOutput);
    }

    /** The same for other tokens, and another gradient of their outputs. */
    LayerCase with(Numbers otherTokens, Numbers otherGradient) {
        return of(parameters, otherTokens, otherGradient);
    }

    /** The same with the random numbers of a call. */
    LayerCase with(Draws draws) {
        Training drawn = new Training(training.noise(), training.losses(), training.situation(), draws);
        return new LayerCase(name, sizes, router, routed, shared, merge, capacity, drawn, parameters, tokens, dOutput);
    }

    /** The same in a plain call. */
    LayerCase plain() {
        Training plain = new Training(training.noise(), training.losses(), Situation.PLAIN, Draws.NONE);
        return new LayerCase(name, sizes, router, routed, shared, merge, capacity, plain, parameters, tokens, dOutput);
    }

    private LayerCase of(Map<String, Numbers> all, Numbers itsTokens, Numbers itsGradient) {
        Sizes itsSizes = new Sizes(itsTokens.rows(), sizes.hidden(), sizes.width());
        return new LayerCase(
                name, itsSizes, router, routed, shared, merge, capacity, training, all, itsTokens, itsGradient);
    }

    /** The same with another router, without capacity, noise and losses. */
    LayerCase bare(RouterWords other) {
        return new LayerCase(
                name,
                sizes,
                other,
                routed,
                shared,
                merge,
                Optional.empty(),
                Training.NONE,
                parameters,
                tokens,
                dOutput);
    }

    /** The same without losses. */
    LayerCase withoutLosses() {
        return withLosses(List.of());
    }

    /** The same with other losses. */
    LayerCase withLosses(List<LossWords> losses) {
        Training other = new Training(training.noise(), losses, training.situation(), training.draws());
        return new LayerCase(name, sizes, router, routed, shared, merge, capacity, other, parameters, tokens, dOutput);
    }

    /** The same with another merge, and with another scale of its router. */
    LayerCase with(MergeWords otherMerge, double scale) {
        return new LayerCase(
                name,
                sizes,
                router.withScale(scale),
                routed,
                shared,
                otherMerge,
                capacity,
                training,
                parameters,
                tokens,
                dOutput);
    }

    /** Whether another router would select other experts for some token. */
    boolean selectsOtherwise(RouterWords other) {
        for (int t = 0; t < sizes.tokens(); t++) {
            double[] logits = TokenwiseRoutes.logits(this, t);
            if (!TokenwiseRouter.selected(router, logits).equals(TokenwiseRouter.selected(other, logits))) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return name + ": " + sizes + ", " + router + ", " + routed + ", " + merge + " with " + shared + ", " + capacity
                + ", " + training.noise() + ", " + training.losses() + " in " + training.situation();
    }
}
