package org.moe4j.bench.study;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import org.moe4j.bench.optimizer.Optimizer;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Parameters;

/** A layer that learns: each learned parameter has an optimizer, the others are frozen. It changes with every step. */
public final class TrainedLayer implements AutoCloseable {
    private final Map<String, Optimizer> learned = new LinkedHashMap<>();
    private MoeLayer layer;

    /** Chooses what learns, and how. */
    public interface Choice {
        /**
         * The optimizer of one parameter.
         *
         * @param name as in {@link MoeLayer#parameters}
         * @param start its values, not to be closed
         * @return empty for a frozen one
         */
        Optional<Optimizer> of(String name, Matrix start);
    }

    /**
     * Before the first step.
     *
     * @param start taken over: it is closed with this
     * @param choice optimizer of each learned parameter
     */
    public TrainedLayer(MoeLayer start, Choice choice) {
        layer = start;
        try (Parameters parameters = start.parameters()) {
            for (String name : parameters.names()) {
                choice.of(name, parameters.get(name)).ifPresent(optimizer -> learned.put(name, optimizer));
            }
        }
    }

    /**
     * The layer as it is now.
     *
     * @return not to be closed; closed by the next step
     */
    public MoeLayer layer() {
        return layer;
    }

    /**
     * What learns.
     *
     * @return names, in the order of the layer's parameters
     */
    public Set<String> learned() {
        return Collections.unmodifiableSet(learned.keySet());
    }

    /**
     * The optimizers.
     *
     * @return by the name of the parameter, unmodifiable
     */
    public Map<String, Optimizer> optimizers() {
        return Collections.unmodifiableMap(learned);
    }

    /**
     * Puts another router into the layer and closes the old one.
     *
     * @param next with the same parameters
     */
    public void replaceRouter(Router next) {
        Router old = layer.router();
        layer = layer.withRouter(next);
        old.close();
    }

    /**
     * A buffer of zeros for each learned parameter, to collect gradients in.
     *
     * @return by name; the caller's
     */
    public Parameters buffers() {
        Map<String, Matrix> buffers = new LinkedHashMap<>();
        try (Parameters parameters = layer.parameters()) {
            for (String name : learned.keySet()) {
                Matrix value = parameters.get(name);
                buffers.put(name, value.backend().buffer(value.rows(), value.columns()));
            }
        }
        return Parameters.of(buffers);
    }

    /**
     * One step of every optimizer.
     *
     * @param gradients of the learned parameters, by name
     * @param rate step size of a name
     */
    public void step(Parameters gradients, ToDoubleFunction<String> rate) {
        step(gradients, 1, rate);
    }

    /**
     * One step of every optimizer with gradients times a factor, as one of {@link
     * org.moe4j.bench.optimizer.GradientClipping}.
     *
     * @param gradients of the learned parameters, by name
     * @param factor of all gradients
     * @param rate step size of a name
     */
    public void step(Parameters gradients, double factor, ToDoubleFunction<String> rate) {
        try (MoeLayer old = layer;
                Parameters parameters = old.parameters();
                Parameters next = parameters.map((name, value) -> {
                    Optimizer optimizer = learned.get(name);
                    return optimizer == null
                            ? value.share()
                            : next(optimizer, value, times(factor, gradients.get(name)), rate.applyAsDouble(name));
                })) {
            layer = old.withParameters(next);
        }
    }

    private static double[] times(double factor, Matrix gradient) {
        double[] scaled = gradient.toArray();
        Arrays.setAll(scaled, i -> factor * scaled[i]);
        return scaled;
    }

    private static Matrix next(Optimizer optimizer, Matrix value, double[] gradient, double rate) {
        optimizer.step(gradient, rate);
        return value.backend().matrix(value.rows(), value.columns(), optimizer.values());
    }

    @Override
    public void close() {
        layer.close();
    }
}
