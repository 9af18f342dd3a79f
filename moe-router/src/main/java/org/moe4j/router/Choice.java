package org.moe4j.router;

import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.SeededRows;
import org.moe4j.core.layer.RoutingContext;

/**
 * Where tokens go.
 *
 * @param weighed the experts from whose scores weights are made; those of a token are at least those it goes to
 * @param routing the experts a token goes to: of each token the first of those above, as many as it keeps
 */
record Choice(Routing weighed, Routing routing) {
    /** The choice of T tokens. */
    static Choice of(RouterConfig config, Optional<SelectionBias> bias, LogitRows logits, RoutingContext context) {
        ExpertSelection selection = config.selection();
        if (selection instanceof ExpertSelection.Sinkhorn sinkhorn) {
            return all(
                    ChosenWeights.routing(config, logits, new SinkhornBalance(sinkhorn, logits).best(config.topK())));
        }
        if (selection instanceof ExpertSelection.ExpertChoice rule) {
            return all(ChosenWeights.routing(
                    config, logits, TokensOfExperts.of(config, rule, logits, context.sequenceLengths())));
        }
        if (selection instanceof ExpertSelection.Recorded recorded) {
            return all(ChosenWeights.routing(config, logits, recorded(recorded.routing(), logits)));
        }
        if (selection instanceof ExpertSelection.TopTwo topTwo
                && context.noiseSeed().isPresent()) {
            return ofTwo(config, bias, logits, topTwo.second(), context.noiseSeed());
        }
        return all(TokenChoice.routing(config, bias, logits));
    }

    /** The routing of T tokens by the logits in a matrix. */
    static Routing routing(TokenChoice.Room room, Matrix logits, RoutingContext context) {
        boolean oneByOne =
                !room.config().selection().wholeBatch() && context.noiseSeed().isEmpty();
        return oneByOne
                ? room.routing(logits)
                : of(room.config(), room.bias(), LogitRows.of(logits), context).routing();
    }

    /** Gradients of the weights of all weighed experts: those that a token does not go to have none. */
    double[] weighedGradients(double[] dWeights) {
        if (weighed == routing) {
            return dWeights;
        }
        double[] all = new double[weighed.slots()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                all[weighed.slot(t, rank)] = dWeights[routing.slot(t, rank)];
            }
        }
        return all;
    }

    private static ExpertLists recorded(Routing routing, LogitRows logits) {
        Require.count("tokens", logits.tokens(), routing.tokens(), "tokens (of the recorded routing)");
        int[] offsets = new int[routing.tokens() + 1];
        int[] experts = new int[routing.slots()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                experts[offsets[t] + rank] = routing.expert(t, rank);
            }
            offsets[t + 1] = offsets[t] + routing.count(t);
        }
        return new ExpertLists(offsets, experts);
    }

    private static Choice all(Routing routing) {
        return new Choice(routing, routing);
    }

    private static Choice ofTwo(
            RouterConfig config,
            Optional<SelectionBias> bias,
            LogitRows logits,
            SecondExpert second,
            OptionalLong noiseSeed) {
        Routing best = TokenChoice.routing(config, bias, logits);
        long seed = noiseSeed.getAsLong();
        if (second instanceof SecondExpert.Random random) {
            return new Choice(best, kept(best, config.scale(), random, seed));
        }
        if (second instanceof SecondExpert.Sampled) {
            return all(ChosenWeights.routing(config, logits, sampled(best, logits, seed)));
        }
        return all(best);
    }

    private static Routing kept(Routing best, double scale, SecondExpert.Random rule, long seed) {
        int[] offsets = new int[best.tokens() + 1];
        int[] experts = new int[best.slots()];
        double[] weights = new double[best.slots()];
        int slots = 0;
        for (int t = 0; t < best.tokens(); t++) {
            double uniform = SeededRows.open(RandomNumbers.SECOND_EXPERT.ofToken(seed, t));
            int count = rule.keeps(best.weight(t, 1) / scale, uniform) ? 2 : 1;
            for (int rank = 0; rank < count; rank++) {
                experts[slots] = best.expert(t, rank);
                weights[slots++] = best.weight(t, rank);
            }
            offsets[t + 1] = slots;
        }
        return Routing.ofVarying(best.experts(), offsets, Arrays.copyOf(experts, slots), Arrays.copyOf(weights, slots));
    }

    private static ExpertLists sampled(Routing best, LogitRows logits, long seed) {
        int experts = best.experts();
        int[] pairs = new int[2 * best.tokens()];
        double[] row = new double[experts];
        for (int t = 0; t < best.tokens(); t++) {
            int first = best.expert(t, 0);
            logits.row(t, row);
            SplittableRandom random = RandomNumbers.SECOND_EXPERT.ofToken(seed, t);
            int second = -1;
            double largest = Double.NEGATIVE_INFINITY;
            for (int e = 0; e < experts; e++) {
                double drawn = row[e] + RandomNumbers.gumbel(random); // also for the first, so that places stay
                if (e != first && (second < 0 || drawn > largest)) {
                    second = e;
                    largest = drawn;
                }
            }
            pairs[2 * t] = first;
            pairs[2 * t + 1] = second;
        }
        return ExpertLists.ofFixed(2, pairs);
    }
}
