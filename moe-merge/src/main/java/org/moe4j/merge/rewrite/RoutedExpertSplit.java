package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;

/**
 * A layer whose E routed experts of width F are split into m parts each: E·m experts of width F/m, K·m of them per token, computing the
 * same. Expert e's parts are e·m … e·m + m − 1, cut as {@link Partition} cuts; the down bias stands in the first part, which is
 * right as all parts of an expert are selected together and with one weight.
 *
 * <p>That takes a router of the parts in which each inherits the row of its expert, made by moe-router's {@code InheritedRows}, which
 * also says the weight q of a part over that of its expert. The merge convention is made anew for the widths of the parts
 * ({@link org.moe4j.merge.ScaledMerge#forWidths}), with α' and s' for α and s. As {@code α'·q·w·Σ_i c·f_i = α·w·f}, the down projections and biases of the parts
 * are multiplied by {@code c = α/(α'·q)}:
 *
 * <ul>
 *   <li>m under {@code sum} or {@code routed-unit-sum} where a part has 1/m of the weight, as with softmax or renormalised weights;
 *   <li>1 there with raw sigmoids, as each part has the full weight;
 *   <li>1 under {@code olmo}, whose K·m makes up for 1/m.
 * </ul>
 *
 * <p>Those of the shared experts are multiplied by {@code s/s'}, which is 1 but under {@code active-mean}, where K stands in both factors.
 *
 * <p>With rows of its own it is another function: tokens mix parts of several experts then. And the training is
 * not the same: parts get gradients of their own for their rows of the router, which add up to that of the row they came from.
 *
 * <p>Refused, each with its reason: a capacity with a limit; weights on the input; a router that does not select parts together
 * with q times the weights (compared on 32 drawn tokens); a merge of an unknown class; experts of one; and what
 * {@link ConventionRewrite} refuses of factors.
 */
public final class RoutedExpertSplit {
    private final MoeLayer layer;
    private final ConventionChange change;

    private RoutedExpertSplit(MoeLayer layer, ConventionChange change) {
        this.layer = layer;
        this.change = change;
    }

    /**
     * Splits the routed experts of a layer.
     *
     * @param layer dropless, with a {@link org.moe4j.merge.MergeConvention} or without a shared branch; it stays as it is
     * @param parts m, at least 1, a divisor of F
     * @param inherited the layer's router for the parts; it stays the caller's, the result has parameters of its own
     * @param weightOfPart q, the weight of a part over that of its expert, above 0
     * @return the split layer
     * @throws IllegalArgumentException when there is no such layer; the message says which condition fails
     */
    public static RoutedExpertSplit of(MoeLayer layer, int parts, Router inherited, double weightOfPart) {
        Partition partition = Partition.even(layer.experts().shape(), parts);
        SplitChecks.require(layer, parts, inherited, weightOfPart);
        Optional<OutputMerge> merge = SplitChecks.merge(layer, parts, inherited.topK());
        ConventionChange change = SplitChecks.change(layer, merge, weightOfPart);
        try (Unfinished made = new Unfinished();
                Parameters ofRouter = inherited.parameters()) {
            Experts experts = made.add(experts(layer, partition, change));
            Router router = made.add(inherited.withParameters(ofRouter));
            Optional<LatentProjections> latent = layer.latent().map(given -> made.add(own(given)));
            MoeLayer bare = latent.map(given -> MoeLayer.of(router, experts, given))
                    .orElseGet(() -> MoeLayer.of(router, experts));
            MoeLayer jittered = layer.tokenJitter().map(bare::withTokenJitter).orElse(bare);
            Optional<SharedBranch> branch = merge.map(to -> shared(layer, to, change, made));
            MoeLayer result = branch.map(jittered::withShared).orElse(jittered);
            made.keep();
            return new RoutedExpertSplit(result, change);
        }
    }

    private static Experts experts(MoeLayer layer, Partition partition, ConventionChange change) {
        List<Parameters> parts = new ArrayList<>();
        try (Unfinished cut = new Unfinished();
                Parameters all = layer.experts().parameters()) { // the bank has handles of its own
            for (int e = 0; e < layer.experts().shape().count(); e++) {
                List<Parameters> slices = partition.split(all.under(Integer.toString(e)));
                slices.forEach(cut::add);
                for (Parameters slice : slices) {
                    String prefix = "experts." + parts.size();
                    Parameters scaled = cut.add(ScaledMatrices.of(
                            slice.prefixed(prefix), name -> change.of(name).factor()));
                    parts.add(scaled.under(prefix));
                }
            }
            return FeedForwardExperts.of(partition.activation(), parts);
        }
    }

    private static LatentProjections own(LatentProjections given) {
        try (Parameters parameters = given.parameters()) {
            return given.withParameters(parameters);
        }
    }

    private static SharedBranch shared(MoeLayer layer, OutputMerge to, ConventionChange change, Unfinished made) {
        List<Experts> own = new ArrayList<>();
        for (Experts bank : layer.shared().orElseThrow().experts()) {
            try (Parameters weights = bank.parameters();
                    Parameters scaled = ScaledMatrices.of(
                            weights.prefixed("shared"), name -> change.of(name).factor())) {
                own.add(made.add(bank.withParameters(scaled.under("shared"))));
            }
        }
        try (Parameters ofMerge = to.parameters()) {
            return new SharedBranch(own, made.add(to.withParameters(ofMerge)));
        }
    }

    /**
     * The split layer.
     *
     * @return the caller's; it has all parts of its own, so that closing it leaves the given layer open, and the other way round
     */
    public MoeLayer layer() {
        return layer;
    }

    /**
     * What became of the down projections and down biases of the routed experts, beside being cut.
     *
     * @return {@code c = α/(α'·q)}
     */
    public Rescaling routedDown() {
        return change.routed();
    }

    /**
     * What became of the down projections and down biases of the shared experts.
     *
     * @return {@code s/s'}; 1 without shared experts
     */
    public Rescaling sharedDown() {
        return change.shared();
    }
}
