package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.RouterNoise.FixedNormal;
import org.moe4j.router.RouterNoise.InputJitter;
import org.moe4j.router.RouterNoise.LearnedNormal;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** Gradients of routers with noise, second experts, Sinkhorn and expert choice, with losses, by differences under one seed. */
class NoiseGradientTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int TOKENS = 4;
    private static final int HIDDEN = 3;
    private static final int EXPERTS = 5;
    private static final double GAP = 1e-3;

    /**
     * One router under test.
     *
     * @param config its conventions
     * @param noise at most one
     * @param seeded whether the context has a seed
     */
    record Kind(RouterConfig config, List<RouterNoise> noise, boolean seeded) {}

    static Stream<Kind> kinds() {
        RouterConfig plain = RouterConfig.topK(EXPERTS, 2).withScale(1.5);
        List<RouterConfig> configs = List.of(
                plain,
                plain.withLogitBias(true),
                plain.withRenormalization(new Renormalization.SoftmaxOfSelected()),
                plain.withScore(new ScoreFunction.Sigmoid())
                        .withRenormalization(new Renormalization.Sum(.1, Renormalization.EpsilonPlace.IN_SUM)),
                plain.withSelection(new ExpertSelection.TopTwo(new SecondExpert.All())),
                plain.withSelection(new ExpertSelection.TopTwo(new SecondExpert.Random(.5)))
                        .withRenormalization(new Renormalization.Sum(1e-9, Renormalization.EpsilonPlace.IN_SUM)),
                plain.withSelection(new ExpertSelection.TopTwo(new SecondExpert.Sampled()))
                        .withRenormalization(new Renormalization.Sum()),
                plain.withSelection(new ExpertSelection.Sinkhorn()),
                plain.withSelection(new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.batch())),
                plain.withSelection(new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.groups(3)))
                        .withRenormalization(new Renormalization.Norm(2)),
                plain.withTopK(1).withScore(new ScoreFunction.Sigmoid()).withSelection(new ExpertSelection.Sinkhorn()));
        List<Kind> kinds = new ArrayList<>();
        for (RouterConfig config : configs) {
            kinds.add(new Kind(config, List.of(), true));
            kinds.add(new Kind(config, List.of(new InputJitter(.3)), true));
            kinds.add(new Kind(config, List.of(new FixedNormal(2)), true));
            kinds.add(new Kind(config, List.of(new LearnedNormal(.01)), true));
            kinds.add(new Kind(config, List.of(new LearnedNormal(.01)), false));
        }
        return kinds.stream();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void agreesWithDifferences(Kind kind) {
        int checked = 0;
        for (long seed = 1; checked < 5; seed++) {
            assertThat(seed).isLessThan(200); // draws near a tie are few
            checked += check(kind, seed) ? 1 : 0;
        }
    }

    /** False when a step of the differences could change a selection. */
    private static boolean check(Kind kind, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] x = random.doubles(TOKENS * HIDDEN, -1.5, 1.5).toArray();
        double[] w = random.doubles(EXPERTS * HIDDEN, -1.5, 1.5).toArray();
        double[] n = random.doubles(EXPERTS * HIDDEN, -1, 1).toArray();
        double[] b = random.doubles(EXPERTS, -1, 1).toArray();
        double[] dLogits = random.doubles(TOKENS * EXPERTS, -1, 1).toArray();
        TopKPass pass = pass(kind, seed, x, w, n, b);
        double[] dWeights = random.doubles(pass.routing().slots(), -1, 1).toArray();
        for (double shift : new double[] {-GAP, GAP}) {
            for (int i = 0; i < x.length; i++) {
                double[] moved = x.clone();
                moved[i] += shift;
                if (!chosen(pass(kind, seed, moved, w, n, b)).equals(chosen(pass))) {
                    return false;
                }
            }
        }
        Gradients actual = pass.backward(dWeights, dLogits);
        requireTheSameInBuffers(pass, dWeights, dLogits, actual);
        double[] dX = FiniteDifferences.gradient(at -> loss(pass(kind, seed, at, w, n, b), dWeights, dLogits), x);
        double[] dW = FiniteDifferences.gradient(at -> loss(pass(kind, seed, x, at, n, b), dWeights, dLogits), w);
        double[] dN = FiniteDifferences.gradient(at -> loss(pass(kind, seed, x, w, at, b), dWeights, dLogits), n);
        double[] dB = FiniteDifferences.gradient(at -> loss(pass(kind, seed, x, w, n, at), dWeights, dLogits), b);
        double norm = FiniteDifferences.norm(dX, dW, dN, dB);
        requireAgreement(actual.input().toArray(), dX, norm);
        requireAgreement(actual.parameters().get("weight").toArray(), dW, norm);
        if (kind.noise().contains(new LearnedNormal(.01))) {
            requireAgreement(actual.parameters().get("noise").toArray(), dN, norm);
        }
        if (kind.config().logitBias()) {
            requireAgreement(actual.parameters().get("bias").toArray(), dB, norm);
        }
        return true;
    }

    /** One parameter after the other, the others frozen. */
    private static void requireTheSameInBuffers(
            TopKPass pass, double[] dWeights, double[] dLogits, Gradients expected) {
        for (String name : expected.parameters().names()) {
            Matrix gradient = expected.parameters().get(name);
            Matrix buffer = BACKEND.buffer(gradient.rows(), gradient.columns());
            Matrix input = pass.backward(dWeights, dLogits, Set.of(name), Parameters.of(name, buffer));
            assertThat(input.toArray()).isEqualTo(expected.input().toArray());
            assertThat(buffer.toArray()).isEqualTo(gradient.toArray());
        }
    }

    private static void requireAgreement(double[] actual, double[] expected, double norm) {
        assertThat(FiniteDifferences.worst(actual, expected, norm)).isLessThanOrEqualTo(1);
    }

    private static TopKPass pass(Kind kind, long seed, double[] x, double[] w, double[] n, double[] b) {
        Matrix weight = BACKEND.matrix(EXPERTS, HIDDEN, w);
        TopKRouter router = kind.config().logitBias()
                ? TopKRouter.of(kind.config(), weight, BACKEND.matrix(1, EXPERTS, b))
                : TopKRouter.of(kind.config(), weight);
        for (RouterNoise noise : kind.noise()) {
            router = noise instanceof LearnedNormal learned
                    ? router.withNoise(learned, BACKEND.matrix(EXPERTS, HIDDEN, n))
                    : router.withNoise(noise);
        }
        RoutingContext context = kind.seeded() ? RouterNoiseTest.seeded(seed) : RoutingContext.plain();
        return router.withLosses(losses(kind)).route(BACKEND.matrix(TOKENS, HIDDEN, x), context);
    }

    /** Losses of weights, of clean logits and of deviations beside each other; loads are those of the K largest logits. */
    private static List<RouterLoss> losses(Kind kind) {
        List<RouterLoss> losses = new ArrayList<>();
        losses.add(new ZLoss(.3));
        losses.add(VariationLoss.shazeerImportance(.2));
        losses.add(new VariationLoss("clean", .2, VariationLoss.Quantity.CLEAN_SOFTMAX, false, 0));
        if (kind.config().selection() instanceof ExpertSelection.PlainTopK) {
            losses.add(new VariationLoss("load", .2, VariationLoss.Quantity.LOAD, false, 0));
            losses.add(new VariationLoss("above", .2, VariationLoss.Quantity.LOAD_ABOVE_LAST, false, 0));
        }
        return losses;
    }

    private static List<Integer> chosen(TopKPass pass) {
        Routing routing = pass.routing();
        List<Integer> all = new ArrayList<>();
        for (int t = 0; t < routing.tokens(); t++) {
            all.add(-routing.count(t));
            for (int rank = 0; rank < routing.count(t); rank++) {
                all.add(routing.expert(t, rank));
            }
        }
        return all;
    }

    private static double loss(TopKPass pass, double[] dWeights, double[] dLogits) {
        double loss = pass.auxiliaryLoss();
        Routing routing = pass.routing();
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                loss += routing.weight(t, rank) * dWeights[routing.slot(t, rank)];
            }
        }
        double[] logits = pass.logits();
        for (int i = 0; i < logits.length; i++) {
            loss += logits[i] * dLogits[i];
        }
        return loss;
    }
}
