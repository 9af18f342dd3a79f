package org.moe4j.bench.docs;

import java.util.Arrays;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKPass;
import org.moe4j.router.TopKRouter;

/** Tokens whose logits are given, routed by the library: a token is the number 1, and the router's weight the logits. */
final class Routed {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private final TopKPass pass;

    private Routed(TopKRouter router, int tokens) {
        double[] ones = new double[tokens];
        Arrays.fill(ones, 1);
        pass = router.route(BACKEND.matrix(tokens, 1, ones), RoutingContext.plain());
    }

    static Routed of(RouterConfig config, double... logits) {
        return new Routed(TopKRouter.of(config, column(logits)), 1);
    }

    static Routed withLogitBias(RouterConfig config, double[] logits, double[] bias) {
        Matrix row = BACKEND.matrix(1, bias.length, bias);
        return new Routed(TopKRouter.of(config.withLogitBias(true), column(logits), row), 1);
    }

    /** Several tokens with the same logits. */
    static Routed withSelectionBias(RouterConfig config, int tokens, double[] logits, double[] bias) {
        return new Routed(TopKRouter.of(config, column(logits)).withSelectionBias(SelectionBias.of(bias)), tokens);
    }

    private static Matrix column(double... logits) {
        return BACKEND.matrix(logits.length, 1, logits);
    }

    /** Experts of the first token, best first. */
    int[] experts() {
        int[] experts = new int[pass.routing().topK()];
        Arrays.setAll(experts, rank -> pass.routing().expert(0, rank));
        return experts;
    }

    /** Weights of the first token, best expert first. */
    double[] weights() {
        double[] weights = new double[pass.routing().topK()];
        Arrays.setAll(weights, rank -> pass.routing().weight(0, rank));
        return weights;
    }

    double mass() {
        return Plain.sum(weights());
    }

    double[] scores() {
        return pass.scores();
    }

    double[] choiceScores() {
        return pass.choiceScores();
    }

    int[] counts() {
        return pass.routing().tokensPerExpert();
    }

    /** Gradients of the logits: those of the router's weight, as the token is 1. */
    double[] logitGradients(double... dWeights) {
        try (Gradients gradients = pass.backward(dWeights, new double[0])) {
            return gradients.parameters().get("weight").toArray();
        }
    }
}
