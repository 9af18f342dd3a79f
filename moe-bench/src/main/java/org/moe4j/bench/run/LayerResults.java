package org.moe4j.bench.run;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.router.TopKPass;
import org.moe4j.router.loss.RouterLoss;

/** What a layer gave; neither its weights nor what its backward needed are held. */
final class LayerResults implements AutoCloseable {
    private final Matrix output;
    private final Routing routing;
    private final double[] weights;
    private final double[] logits;
    private final Map<String, Double> losses;
    private final Optional<Gradients> gradients;

    private LayerResults(
            Matrix output,
            Routing routing,
            double[] weights,
            double[] logits,
            Map<String, Double> losses,
            Optional<Gradients> gradients) {
        this.output = output;
        this.routing = routing;
        this.weights = weights;
        this.logits = logits;
        this.losses = losses;
        this.gradients = gradients;
    }

    /**
     * Goes backward, where there is a gradient to go with, and gathers.
     *
     * @param pass of the layer
     * @param output of the layer, or of the block around it; the results' from now on
     * @param backward of the same
     * @param dOutput gradient of the output
     */
    static LayerResults of(
            MoePass pass, Matrix output, Function<Matrix, Gradients> backward, Optional<Matrix> dOutput) {
        try (Unfinished made = new Unfinished()) {
            made.add(output);
            TopKPass router = (TopKPass) pass.routerPass();
            Routing routing = pass.routing();
            double[] weights = new double[routing.slots()];
            for (int t = 0; t < routing.tokens(); t++) {
                for (int i = 0; i < routing.count(t); i++) {
                    weights[routing.slot(t, i)] = pass.coefficients().routed(t, i);
                }
            }
            Map<String, Double> losses = new LinkedHashMap<>();
            for (RouterLoss loss : router.losses()) {
                losses.put(loss.name(), router.lossValue(loss));
            }
            LayerResults results =
                    new LayerResults(output, routing, weights, router.logits(), losses, dOutput.map(backward));
            made.keep();
            return results;
        }
    }

    /** The losses of the router by name, each multiplied by its coefficient. */
    Map<String, Double> losses() {
        return losses;
    }

    /** Gradients of the layer's parameters, or of the block's. */
    Optional<Gradients> gradients() {
        return gradients;
    }

    /**
     * All but the gradients of parameters.
     *
     * @param shape of the output
     * @param type of the numbers
     */
    List<TensorContent> contents(List<Long> shape, ElementType type) {
        List<TensorContent> contents = new ArrayList<>();
        int k = routing.topK();
        List<Long> slots = List.of((long) routing.tokens(), (long) k);
        contents.add(TensorContent.ofRows("output", type, shape, rows(output)));
        contents.add(TensorContent.of(
                "router_logits", type, routing.tokens(), routing.experts(), rows(logits, routing.experts())));
        contents.add(new TensorContent("topk_index", ElementType.I64, slots, (from, count, into) -> {
            for (long slot = from; slot < from + count; slot++) {
                into.putLong(routing.expert((int) (slot / k), (int) (slot % k)));
            }
        }));
        contents.add(TensorContent.of("topk_weight", type, routing.tokens(), k, rows(weights, k)));
        gradients.ifPresent(
                all -> contents.add(TensorContent.ofRows("d_" + LayerInput.TOKENS, type, shape, rows(all.input()))));
        return contents;
    }

    private static RowSource rows(Matrix matrix) {
        return new RowSource() {
            @Override
            public void read(int row, float[] into) {
                matrix.readRows(row, row + 1, into);
            }

            @Override
            public void read(int row, double[] into) {
                matrix.readRows(row, row + 1, into);
            }
        };
    }

    private static RowSource rows(double[] values, int columns) {
        return new RowSource() {
            @Override
            public void read(int row, float[] into) {
                for (int j = 0; j < columns; j++) {
                    into[j] = (float) values[row * columns + j];
                }
            }

            @Override
            public void read(int row, double[] into) {
                System.arraycopy(values, row * columns, into, 0, columns);
            }
        };
    }

    @Override
    public void close() {
        output.close();
        gradients.ifPresent(Gradients::close);
    }
}
