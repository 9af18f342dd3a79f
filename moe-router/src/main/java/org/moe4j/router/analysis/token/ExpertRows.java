package org.moe4j.router.analysis.token;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;

/** What the experts of a token make of it, each for itself. */
final class ExpertRows {
    private ExpertRows() {}

    /** Refuses a layer whose experts see something else than the token, as far as one could not know what. */
    static void requirePlain(MoeLayer layer) {
        if (layer.weightPlace() == WeightPlace.INPUT && layer.capacity() instanceof Capacity.Limited) {
            throw Require.expected(
                    "layer", "weights on the output, or no capacity", "weights on the input with " + layer.capacity());
        }
    }

    /**
     * Outputs of a token's experts as they reach the layer's output, but for their coefficients: in a latent space behind the projection up,
     * with weights on the input those of the weighted token.
     *
     * @return for each rank D numbers
     */
    static double[][] of(MoeLayer layer, Matrix tokens, int token, Routing routing) {
        int count = routing.count(token);
        if (count == 0) {
            return new double[0][];
        }
        Backend backend = tokens.backend();
        Experts experts = layer.experts();
        int[] sorted = new int[count];
        for (int rank = 0; rank < count; rank++) {
            sorted[rank] = routing.expert(token, rank);
        }
        Arrays.sort(sorted);
        int[] sizes = new int[routing.experts()];
        for (int expert : sorted) {
            sizes[expert] = 1;
        }
        double weight = layer.weightPlace() == WeightPlace.INPUT ? routing.weight(token, 0) : 1;
        double[][] rows = new double[count]
                [layer.latent()
                        .map(LatentProjections::hiddenSize)
                        .orElse(experts.shape().hiddenSize())];
        try (Matrix row = backend.gatherRows(tokens, new int[] {token});
                Matrix projected = projected(layer.latent(), row, "down");
                Matrix input = backend.scaleRows(projected, new double[] {weight});
                Matrix inner = experts.apply(input, new int[count], RowGroups.ofSizes(sizes));
                Matrix outputs = projected(layer.latent(), inner, "up")) {
            for (int rank = 0; rank < count; rank++) {
                int at = Arrays.binarySearch(sorted, routing.expert(token, rank));
                outputs.readRows(at, at + 1, rows[rank]);
            }
        }
        return rows;
    }

    private static Matrix projected(Optional<LatentProjections> latent, Matrix rows, String name) {
        if (latent.isEmpty()) {
            return rows.share();
        }
        try (Parameters projections = latent.get().parameters()) {
            return rows.backend().matmulTransB(rows, projections.get(name));
        }
    }
}
