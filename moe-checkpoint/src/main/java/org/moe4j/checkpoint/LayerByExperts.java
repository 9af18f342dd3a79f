package org.moe4j.checkpoint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.rewrite.DownScale;
import org.moe4j.router.TopKRouter;

/** Runs a layer without holding it: one routed expert after the other is read, used and given up. */
final class LayerByExperts {
    private final LayerReader reader;
    private final LayerNeeds needs;
    private final DownScale scale;

    private LayerByExperts(LayerReader reader, LayerNeeds needs, DownScale scale) {
        this.reader = reader;
        this.needs = needs;
        this.scale = scale;
    }

    /**
     * The output of a layer.
     *
     * @param tensors of the layer
     * @param needs its settings, which may be others than those that the tensors were found by
     * @param scale of the routed experts' down projections
     * @param tokens (T×D), whose backend runs the layer
     */
    static Matrix output(LayerTensors tensors, LayerNeeds needs, DownScale scale, Matrix tokens) throws IOException {
        LayerReader reader = new LayerReader(tensors, needs, tokens.backend(), () -> {});
        return new LayerByExperts(reader, needs, scale).output(tokens);
    }

    private Matrix output(Matrix tokens) throws IOException {
        Routing routing;
        try (TopKRouter router = reader.router()) {
            routing = router.routing(tokens, RoutingContext.plain());
        }
        try (Unfinished used = new Unfinished()) {
            Matrix routed = used.add(routed(tokens, routing));
            boolean shared = needs.parts().contains(LayerPart.SHARED_UP);
            if (!shared && needs.preset().section("merge").isEmpty()) {
                return routed.share();
            }
            List<Matrix> outputs = new ArrayList<>();
            if (shared) {
                Experts expert = used.add(reader.shared());
                int[] rows = IntStream.range(0, tokens.rows()).toArray();
                outputs.add(used.add(expert.apply(tokens, rows, RowGroups.single(rows.length))));
            }
            MergeConvention merge = used.add(reader.merge());
            return merge.merge(tokens, routed, outputs).output().share();
        }
    }

    private Matrix routed(Matrix tokens, Routing routing) throws IOException {
        if (!needs.parts().contains(LayerPart.LATENT_DOWN)) {
            return sum(tokens, routing);
        }
        Backend backend = tokens.backend();
        try (LatentProjections latent = reader.latent();
                Parameters projections = latent.parameters();
                Matrix narrow = backend.matmulTransB(tokens, projections.get("down"));
                Matrix sum = sum(narrow, routing)) {
            return backend.matmulTransB(sum, projections.get("up"));
        }
    }

    /** The weighted sums of what the experts return. */
    private Matrix sum(Matrix tokens, Routing routing) throws IOException {
        ExpertShape shape = ExpertShape.routed(needs.preset());
        double[] sums = new double[tokens.rows() * shape.hiddenSize()];
        for (int e = 0; e < shape.count(); e++) {
            int[] rows = rowsOf(e, routing);
            if (rows.length == 0) {
                continue;
            }
            try (Parameters read = reader.readExpert(e);
                    Parameters scaled = scale.absorb(read);
                    FeedForwardExperts bank = FeedForwardExperts.of(shape.activation(), List.of(scaled));
                    Matrix output = bank.apply(tokens, rows, RowGroups.single(rows.length))) {
                add(output.toArray(), e, rows, routing, sums);
            }
        }
        return tokens.backend().matrix(tokens.rows(), shape.hiddenSize(), sums);
    }

    private static int[] rowsOf(int expert, Routing routing) {
        return IntStream.range(0, routing.tokens())
                .filter(t -> IntStream.range(0, routing.count(t)).anyMatch(i -> routing.expert(t, i) == expert))
                .toArray();
    }

    private static void add(double[] output, int expert, int[] rows, Routing routing, double[] sums) {
        int width = output.length / rows.length;
        for (int i = 0; i < rows.length; i++) {
            int token = rows[i];
            double weight = IntStream.range(0, routing.count(token))
                    .filter(rank -> routing.expert(token, rank) == expert)
                    .mapToDouble(rank -> routing.weight(token, rank))
                    .findFirst()
                    .orElseThrow();
            for (int j = 0; j < width; j++) {
                sums[token * width + j] += weight * output[i * width + j];
            }
        }
    }
}
