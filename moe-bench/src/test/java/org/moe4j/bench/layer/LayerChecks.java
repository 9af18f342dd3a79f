package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.TokenwiseRoutes.Routes;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.core.vector.VectorBackend;

/** What is demanded of a layer of the library beside the definition of its case. */
final class LayerChecks {
    private LayerChecks() {}

    /** Every backend and strategy there is. */
    static List<Backend> backends() {
        return List.of(
                ReferenceBackend.instance(),
                VectorBackend.float64(),
                VectorBackend.float32(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.DEVICE),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.DEVICE));
    }

    /** Those that are made to be fast, in both precisions. */
    static List<Backend> fastBackends() {
        return List.of(
                VectorBackend.float32(),
                VectorBackend.float64(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST));
    }

    /**
     * A whole layer agrees to {@code 4·√max(D, F)·u} of the maximum norm, in double to 1e-12. Both widths are at least 8:
     * below, the dozen roundings that every element passes outweigh the sums.
     */
    static double bound(Backend backend, LayerCase c) {
        int longest = Math.max(
                c.sizes().hidden(), Math.max(c.sizes().width(), c.shared().width()));
        return backend.unitRoundoff() > 1e-10 ? 4 * Math.sqrt(longest) * backend.unitRoundoff() : 1e-12;
    }

    /** Output of forward and apply, and the coefficients, against the definition. */
    static void outputAndCoefficients(LayerCase of, MoeLayer layer, Backend backend) {
        LayerCase c = LibraryDraws.in(of, backend);
        double[] expected = TokenwiseLayer.output(c);
        double allowed = bound(backend, c) * FiniteDifferences.norm(expected);
        try (Matrix tokens = c.tokens().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c));
                Matrix forward = pass.output();
                Matrix apply = layer.apply(tokens)) {
            assertThat(Tolerance.distance(forward.toArray(), expected))
                    .as("forward of %s", c)
                    .isLessThanOrEqualTo(allowed);
            double[] inPlainCall = c.training().situation().isPlain() ? expected : TokenwiseLayer.output(c.plain());
            assertThat(Tolerance.distance(apply.toArray(), inPlainCall))
                    .as("apply of %s", c)
                    .isLessThanOrEqualTo(allowed);
            double losses = TokenwiseRoutes.losses(c);
            Tolerance.assertWithin(
                    "losses of " + c, pass.auxiliaryLoss(), losses, bound(backend, c) * Math.max(1, losses));
            coefficients(c, pass, backend);
        }
    }

    private static void coefficients(LayerCase c, MoePass pass, Backend backend) {
        double[][] r = TokenwiseLayer.routedCoefficients(c);
        double[] passed = TokenwiseRoutes.of(c).passed();
        double factor = TokenwiseMerge.routedFactor(c);
        double allowed = bound(backend, c) * c.router().scale() * c.router().topK();
        for (int t = 0; t < r.length; t++) {
            double[] actual = new double[c.router().experts()];
            for (int rank = 0; rank < pass.routing().count(t); rank++) {
                actual[pass.routing().expert(t, rank)] = pass.coefficients().routed(t, rank);
            }
            assertThat(Tolerance.distance(actual, r[t]))
                    .as("routed coefficients of token %d of %s", t, c)
                    .isLessThanOrEqualTo(allowed);
            Tolerance.assertWithin(
                    "coefficient of token " + t + " itself of " + c,
                    pass.coefficients().passed(t),
                    factor * passed[t],
                    allowed);
            double[] s = TokenwiseMerge.sharedCoefficients(c, t);
            for (int i = 0; i < s.length; i++) {
                Tolerance.assertWithin(
                        "shared coefficient " + i + " of token " + t + " of " + c,
                        pass.coefficients().shared(t, i),
                        s[i],
                        bound(backend, c));
            }
        }
    }

    /** All gradients of a layer with the parameters of a case: {@code tokens} and the parameters by name. */
    static Map<String, double[]> gradients(LayerCase c, MoeLayer layer, Backend backend) {
        Map<String, double[]> arrays = new HashMap<>();
        try (Matrix tokens = c.tokens().on(backend);
                Matrix dOutput = c.dOutput().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c));
                Gradients gradients = pass.backward(dOutput)) {
            pass.output().close();
            arrays.put("tokens", gradients.input().toArray());
            gradients
                    .parameters()
                    .names()
                    .forEach(name ->
                            arrays.put(name, gradients.parameters().get(name).toArray()));
        }
        assertThat(arrays.keySet())
                .containsAll(c.parameters().keySet())
                .hasSize(c.parameters().size() + 1);
        return arrays;
    }

    /**
     * Gradients of some parameters, drawn by the seed, are added to what is in buffers; and the gradient of the tokens does not
     * depend on what is wanted.
     */
    static void accumulated(LayerCase c, MoeLayer layer, Backend backend, Map<String, double[]> fresh, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<String, Matrix> buffers = new LinkedHashMap<>();
        Map<String, double[]> before = new HashMap<>();
        c.parameters().forEach((name, value) -> {
            if (random.nextBoolean()) {
                Numbers drawn = LayerDraw.normal(random, value.rows(), value.columns(), 1);
                Matrix buffer = backend.buffer(value.rows(), value.columns());
                try (Matrix filling = drawn.on(backend)) {
                    backend.accumulate(1, buffer, 0, filling);
                }
                before.put(name, drawn.values());
                buffers.put(name, buffer);
            }
        });
        try (Parameters into = Parameters.of(buffers);
                Matrix tokens = c.tokens().on(backend);
                Matrix dOutput = c.dOutput().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c));
                Gradients gradients = pass.backward(dOutput, buffers.keySet(), into)) {
            pass.output().close();
            Map<String, double[]> expected = new HashMap<>();
            before.forEach((name, values) -> expected.put(name, sum(values, fresh.get(name))));
            Map<String, double[]> actual = new HashMap<>();
            buffers.keySet().forEach(name -> actual.put(name, into.get(name).toArray()));
            expected.put("tokens", fresh.get("tokens"));
            actual.put("tokens", gradients.input().toArray());
            sameGradients(c, backend, actual, expected);
        }
    }

    private static double[] sum(double[] a, double[] b) {
        double[] sum = a.clone();
        Plain.add(sum, 0, 1, b);
        return sum;
    }

    /** Gradients of one backend against those of the reference. */
    static void sameGradients(
            LayerCase c, Backend backend, Map<String, double[]> actual, Map<String, double[]> expected) {
        double norm = FiniteDifferences.norm(expected.values().toArray(new double[0][]));
        expected.forEach((name, values) ->
                // forward and backward one after the other: twice the bound of a layer
                assertThat(Tolerance.distance(actual.get(name), values))
                        .as("%s of %s", name, c)
                        .isLessThanOrEqualTo(2 * bound(backend, c) * norm));
    }

    /**
     * Every gradient against central differences of the definition. An expert that no token went to has a gradient of exactly
     * zero, and no difference is taken of it.
     *
     * @return the largest error as a share of what is allowed
     */
    static double gradientsByDifferences(LayerCase c, Map<String, double[]> gradients) {
        double norm = FiniteDifferences.norm(gradients.values().toArray(new double[0][]));
        Routes routes = TokenwiseRoutes.of(c);
        return gradients.keySet().parallelStream()
                .mapToDouble(name -> byDifferences(c, routes, name, gradients.get(name), norm))
                .reduce(0, Math::max);
    }

    private static double byDifferences(LayerCase c, Routes routes, String name, double[] gradient, double norm) {
        if (idle(name, routes.weights())) {
            assertThat(gradient).as("%s of %s", name, c).containsOnly(0);
            return 0;
        }
        boolean routesMove = name.equals("tokens") || name.startsWith("router.");
        double[] at = c.number(name).values().clone();
        LayerCase moved =
                c.with(name, at); // once: the parameters of hundreds of experts would be copied for every number
        ToDoubleFunction<double[]> loss = values -> {
            System.arraycopy(values, 0, at, 0, at.length);
            return loss(
                    moved, TokenwiseLayer.output(moved, routesMove ? TokenwiseRoutes.of(moved) : routes), routesMove);
        };
        double worst = FiniteDifferences.worst(gradient, FiniteDifferences.gradient(loss, at.clone()), norm);
        assertThat(worst).as("%s of %s", name, c).isLessThanOrEqualTo(1);
        return worst;
    }

    /** Whether a parameter belongs to an expert without tokens. */
    static boolean idle(String parameter, double[][] weights) {
        String[] parts = parameter.split("\\.", -1);
        if (!parts[0].equals("experts")) {
            return false;
        }
        int expert = Integer.parseInt(parts[1]);
        for (double[] token : weights) {
            if (token[expert] != 0) {
                return false;
            }
        }
        return true;
    }

    private static double loss(LayerCase c, double[] output, boolean routesMove) {
        double sum = routesMove ? TokenwiseRoutes.losses(c) : 0;
        for (int i = 0; i < output.length; i++) {
            sum += output[i] * c.dOutput().values()[i];
        }
        return sum;
    }
}
