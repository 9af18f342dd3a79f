package org.moe4j.router;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * Handles on a router's parameters.
 *
 * @param weight (E×D)
 * @param bias (1×E) on the logits
 * @param noise (E×D), from which deviations are learned
 */
record RouterWeights(Matrix weight, Optional<Matrix> bias, Optional<Matrix> noise) {
    static final String WEIGHT = "weight";
    static final String BIAS = "bias";
    static final String NOISE = "noise";

    /** The same matrices by handles of their own. */
    RouterWeights shared() {
        return new RouterWeights(weight.share(), bias.map(Matrix::share), noise.map(Matrix::share));
    }

    /** A weight alone; the handle stays the caller's. */
    static RouterWeights of(RouterConfig config, Matrix weight) {
        checkWeight(config, weight);
        if (config.logitBias()) {
            throw Require.expected(BIAS, "a matrix 1 x " + config.experts() + " (config.logitBias)", "absent");
        }
        return new RouterWeights(weight.share(), Optional.empty(), Optional.empty());
    }

    /** A weight and a bias on the logits; the handles stay the caller's. */
    static RouterWeights of(RouterConfig config, Matrix weight, Matrix bias) {
        checkWeight(config, weight);
        if (!config.logitBias()) {
            throw Require.expected("config.logitBias", "true with a bias on the logits", false);
        }
        KernelChecks.owner(BIAS, bias, weight.backend());
        KernelChecks.shape(BIAS, bias, 1, config.experts(), "one number per expert");
        return new RouterWeights(weight.share(), Optional.of(bias.share()), Optional.empty());
    }

    /** A drawn weight, and a bias of zeros where there has to be one. */
    static RouterWeights random(
            RouterConfig config, int hiddenSize, Backend backend, long seed, Initializer initializer) {
        Matrix drawn = initializer.draw(backend, config.experts(), hiddenSize, seed);
        Optional<Matrix> zeros = config.logitBias()
                ? Optional.of(backend.matrix(1, config.experts(), new double[config.experts()]))
                : Optional.empty();
        return new RouterWeights(drawn, zeros, Optional.empty());
    }

    /** Refuses tokens of another width or backend. */
    void requireTokens(Matrix tokens) {
        Require.count("tokens", tokens.columns(), weight.columns(), "columns (hidden size of the router)");
        KernelChecks.owner("tokens", tokens, weight.backend());
    }

    private static void checkWeight(RouterConfig config, Matrix weight) {
        Require.count(WEIGHT, weight.rows(), config.experts(), "rows (experts)");
        if (weight.columns() < 1) {
            throw Require.expected(WEIGHT, "at least 1 column (hidden size)", weight.columns());
        }
    }

    /** The same weight and bias by handles of their own, and weights of the noise, whose handle stays the caller's. */
    RouterWeights withNoise(Matrix given) {
        KernelChecks.owner(NOISE, given, weight.backend());
        KernelChecks.shape(NOISE, given, weight.rows(), weight.columns(), "shape of the router's weight");
        return new RouterWeights(weight.share(), bias.map(Matrix::share), Optional.of(given.share()));
    }

    RouterWeights withZeroNoise() {
        Matrix zeros = weight.backend().matrix(weight.rows(), weight.columns(), new RowSource() {
            @Override
            public void read(int row, float[] into) {
                Arrays.fill(into, 0);
            }

            @Override
            public void read(int row, double[] into) {
                Arrays.fill(into, 0);
            }
        });
        return new RouterWeights(weight.share(), bias.map(Matrix::share), Optional.of(zeros));
    }

    RouterWeights withoutNoise() {
        return new RouterWeights(weight.share(), bias.map(Matrix::share), Optional.empty());
    }

    private Map<String, Matrix> named() {
        Map<String, Matrix> named = new LinkedHashMap<>();
        named.put(WEIGHT, weight);
        bias.ifPresent(b -> named.put(BIAS, b));
        noise.ifPresent(n -> named.put(NOISE, n));
        return named;
    }

    /** All of them by handles of their own. */
    Parameters parameters() {
        return Parameters.of(named()).map((name, matrix) -> matrix.share());
    }

    /** Handles on given matrices of the same names and shapes. */
    RouterWeights replacedBy(Parameters parameters) {
        parameters.requireNames(named().keySet());
        named().forEach((name, own) -> {
            KernelChecks.owner(name, parameters.get(name), own.backend());
            KernelChecks.shape(
                    name, parameters.get(name), own.rows(), own.columns(), "shape of the " + name + " it replaces");
        });
        return new RouterWeights(
                parameters.get(WEIGHT).share(),
                bias.map(b -> parameters.get(BIAS).share()),
                noise.map(n -> parameters.get(NOISE).share()));
    }

    void close() {
        weight.close();
        bias.ifPresent(Matrix::close);
        noise.ifPresent(Matrix::close);
    }
}
