package org.moe4j.router.analysis.token;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.analysis.LogitSource;

/**
 * One token at one layer: from E logits to its experts and their weights.
 *
 * <p>The <em>kept</em> mass is what the scores of the chosen experts add up to, the <em>discarded</em> mass what those of all others
 * do. Both together are 1 for softmax; sigmoids add up to anything. Without renormalisation the kept mass is what the weights add
 * up to, so that it scales the layer's output (the article on OLMoE-1B-7B, LLM Architecture Refresh 5, §3).
 *
 * @param chosen the experts of the token by rank; none where a rule gives it none
 * @param scores of all E experts
 * @param kept what the scores of the chosen add up to
 * @param discarded what the scores of all others add up to
 * @param weightSum what the weights add up to
 */
public record TokenExplanation(
        List<Chosen> chosen, List<Double> scores, double kept, double discarded, double weightSum) {
    /**
     * One expert of the token.
     *
     * @param expert 0 ≤ expert &lt; E
     * @param logit as given
     * @param score the router's score of it: for softmax its probability among all E
     * @param weight what multiplies its output, renormalised and scaled
     */
    public record Chosen(int expert, double logit, double score, double weight) {}

    /**
     * Copies the lists.
     *
     * @param chosen the experts of the token by rank
     * @param scores of all E experts
     * @param kept what the scores of the chosen add up to
     * @param discarded what the scores of all others add up to
     * @param weightSum what the weights add up to
     */
    public TokenExplanation {
        chosen = List.copyOf(chosen);
        scores = List.copyOf(scores);
    }

    /**
     * What a rule makes of logits.
     *
     * @param config a rule that looks at each token alone
     * @param logits E finite numbers
     * @return the explanation
     * @throws IllegalArgumentException for a rule that looks at the whole batch, or that has a selection bias
     */
    public static TokenExplanation of(RouterConfig config, double[] logits) {
        requireOneToken(config, logits);
        return of(config, logits, config.routing(logits.clone()));
    }

    /**
     * What a rule with a selection bias makes of logits. The bias is in the ranks, and in neither score nor weight.
     *
     * @param config a rule that looks at each token alone
     * @param logits E finite numbers
     * @param bias E values
     * @return the explanation
     * @throws IllegalArgumentException for a rule that looks at the whole batch, or that has no selection bias
     */
    public static TokenExplanation of(RouterConfig config, double[] logits, SelectionBias bias) {
        requireOneToken(config, logits);
        return of(config, logits, config.routing(logits.clone(), bias));
    }

    /**
     * One token at every layer.
     *
     * @param layers of one model, with the same tokens
     * @param token 0 ≤ token &lt; T
     * @param config a rule that looks at each token alone
     * @return one explanation for each layer
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public static List<TokenExplanation> overLayers(
            List<? extends LogitSource> layers, long token, RouterConfig config) {
        List<TokenExplanation> all = new ArrayList<>();
        for (LogitSource layer : layers) {
            Objects.checkIndex(token, layer.tokens());
            double[] logits = new double[layer.experts()];
            layer.read(token, 1, logits);
            all.add(of(config, logits));
        }
        return List.copyOf(all);
    }

    private static void requireOneToken(RouterConfig config, double[] logits) {
        Require.count("logits", logits.length, config.experts(), "numbers (experts)");
        if (config.selection().wholeBatch()) {
            throw Require.expected("config.selection", "a rule that looks at each token alone", config.selection());
        }
    }

    private static TokenExplanation of(RouterConfig config, double[] logits, Routing routing) {
        double[] scores = config.score().scores(logits);
        boolean[] isChosen = new boolean[scores.length];
        List<Chosen> chosen = new ArrayList<>();
        double kept = 0;
        double weights = 0;
        for (int rank = 0; rank < routing.count(0); rank++) {
            int e = routing.expert(0, rank);
            isChosen[e] = true;
            kept += scores[e];
            weights += routing.weight(0, rank);
            chosen.add(new Chosen(e, logits[e], scores[e], routing.weight(0, rank)));
        }
        List<Double> all = new ArrayList<>();
        double discarded = 0;
        for (int e = 0; e < scores.length; e++) {
            discarded += isChosen[e] ? 0 : scores[e];
            all.add(scores[e]);
        }
        return new TokenExplanation(chosen, all, kept, discarded, weights);
    }

    /**
     * The expert that was ranked first.
     *
     * @return empty without any expert
     */
    public Optional<Chosen> top() {
        return chosen.stream().findFirst();
    }

    /**
     * How much of the weights the first expert has: the column "share" of the article's depth profile (§3).
     *
     * @return its weight over the sum of all; 0 where that is 0
     */
    public double topShare() {
        return weightSum == 0 ? 0 : top().map(Chosen::weight).orElse(0.0) / weightSum;
    }
}
