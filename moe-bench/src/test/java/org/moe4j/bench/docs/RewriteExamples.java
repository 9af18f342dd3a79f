package org.moe4j.bench.docs;

import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.ConventionRewrite;
import org.moe4j.merge.rewrite.Rescaling;
import org.moe4j.merge.rewrite.RoutedExpertSplit;
import org.moe4j.router.InheritedRows;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.TopKRouter;

/** The same function with other weights. */
final class RewriteExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final RouterConfig DIVIDED = RouterConfig.topK(8, 4).withRenormalization(new Renormalization.Sum());

    private RewriteExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "From one convention to another", RewriteExamples::conventions,
                "Routed experts split into parts", RewriteExamples::parts);
    }

    /** A layer with experts of width 4 and one shared expert of width 2. */
    private static MoeLayer layer(RouterConfig config, Function<ActiveWidths, ScaledMerge> merge) {
        return MoeLayer.of(
                        TopKRouter.random(config, 3, BACKEND, 1),
                        SwiGluExperts.random(new ExpertShape(config.experts(), 3, 4), BACKEND, 2))
                .withShared(SharedBranch.of(
                        SwiGluExperts.random(new ExpertShape(1, 3, 2), BACKEND, 3),
                        merge.apply(new ActiveWidths(config.topK(), 4, 2))));
    }

    private static void conventions(Example example) {
        double[] sizes = example.given("K = 4, F = 4, d_s = 2");
        ActiveWidths widths = new ActiveWidths((int) sizes[0], (int) sizes[1], (int) sizes[2]);
        try (MoeLayer olmo = layer(DIVIDED, ScaledMerge::olmo)) {
            ConventionRewrite unit = ConventionRewrite.of(olmo, ScaledMerge.routedUnitSum(widths));
            Rescaling down = unit.routedDown();
            example.ours("down projections times 4", down.factor(), 4);
            example.ours("gradients times 0.25", down.gradient(), 0.25);
            example.ours("gradient descent times 16", down.sgdRate(), 4 * 4);
            example.ours("Adam times 4", down.adamRate(), 4);
            example.ours("second moments times 0.0625", down.secondMoment(), 1.0 / 16);
            example.ours("the shared ones times 1", unit.sharedDown().factor(), 1);
            ConventionRewrite proportional = ConventionRewrite.of(olmo, ScaledMerge.widthProportional(widths));
            example.ours(
                    "times 4.5 and times 9",
                    new double[] {
                        proportional.routedDown().factor(),
                        proportional.sharedDown().factor()
                    },
                    4 / (4 * 4 / 18.0),
                    1 / (2 / 18.0));
            unit.layer().close();
            proportional.layer().close();
        }
        double scale = example.givenOne("A router's scale 2.5");
        try (MoeLayer sum = layer(DIVIDED.withScale(scale), any -> ScaledMerge.sum());
                TopKRouter plain = TopKRouter.random(DIVIDED, 3, BACKEND, 1)) {
            ConventionRewrite olmo = ConventionRewrite.of(sum, plain, ScaledMerge.olmo(widths));
            example.ours("becomes scale 1", olmo.layer().router().scale(), 1);
            example.ours("weights times 0.625", olmo.routedDown().factor(), 2.5 / 4);
            olmo.layer().close();
        }
        double[] norms = example.given("norms 3 and 4");
        Rescaling second = new Rescaling(example.givenOne("divided by 4"));
        double together = Math.hypot(norms[0], norms[1]);
        double after = Math.hypot(norms[0], norms[1] * second.gradient());
        example.theirs("the norm 5", together);
        example.theirs("they have 3.1623", after);
        double threshold = example.givenOne("clipping at 1");
        example.theirs(
                "takes the first to 0.9487 instead of 0.6",
                norms[0] * threshold / after,
                norms[0] * threshold / together);
    }

    private static void parts(Example example) {
        example.given("(ln 3, ln 2, 0)");
        double[] logits = {Math.log(3), Math.log(2), 0};
        double[] counts = example.given("K = 2, m = 2");
        RouterConfig softmax = RouterConfig.topK(3, (int) counts[0]);
        RouterConfig sigmoid = softmax.withScore(new ScoreFunction.Sigmoid());
        RouterConfig divided = sigmoid.withRenormalization(new Renormalization.Sum());
        weights(
                example,
                "weights 0.5 and 0.3333 become 0.25, 0.25, 0.1667 and 0.1667",
                softmax,
                logits,
                3 / 6.0,
                2 / 6.0,
                0.5);
        example.ours("c = 2 under", factor(softmax, any -> ScaledMerge.sum()).factor(), 2);
        weights(example, "0.75 and 0.6667 become 0.75, 0.75, 0.6667 and 0.6667", sigmoid, logits, 3 / 4.0, 2 / 3.0, 1);
        example.ours("c = 1.", factor(sigmoid, any -> ScaledMerge.sum()).factor(), 1);
        weights(
                example,
                "0.5294 and 0.4706 become 0.2647, 0.2647, 0.2353 and 0.2353",
                divided,
                logits,
                9 / 17.0,
                8 / 17.0,
                0.5);
        example.ours("c = 2 under", factor(divided, any -> ScaledMerge.sum()).factor(), 2);
        example.ours("and 1 under", factor(divided, ScaledMerge::olmo).factor(), 1);
        RouterConfig norm = sigmoid.withRenormalization(new Renormalization.Norm(example.givenOne("p = 2")));
        example.ours("q = 0.7071", InheritedRows.weightOfCopy(norm, 2), Math.sqrt(0.5));
        example.ours("c = 1.4142", factor(norm, any -> ScaledMerge.sum()).factor(), Math.sqrt(2));
        try (MoeLayer layer = layer(divided, widths -> ScaledMerge.activeMean(widths.topK()))) {
            RoutedExpertSplit split = split(layer);
            example.ours("c = 1.6667", split.routedDown().factor(), 2 / 3.0 / (4 / 5.0 * 0.5));
            example.ours("expert times 1.6667", split.sharedDown().factor(), 1 / 3.0 / (1 / 5.0));
            split.layer().close();
        }
    }

    /** The weights of the two experts of a token, and of their four parts. */
    private static void weights(
            Example example,
            String phrase,
            RouterConfig config,
            double[] logits,
            double first,
            double second,
            double q) {
        double[] twice = {logits[0], logits[0], logits[1], logits[1], logits[2], logits[2]};
        RouterConfig wide = config.withExperts(6).withTopK(4);
        example.ours(
                phrase,
                Plain.join(
                        Routed.of(config, logits).weights(),
                        Routed.of(wide, twice).weights()),
                first,
                second,
                q * first,
                q * first,
                q * second,
                q * second);
    }

    private static RoutedExpertSplit split(MoeLayer layer) {
        InheritedRows rows = InheritedRows.of((TopKRouter) layer.router(), 2);
        try (TopKRouter router = rows.router()) {
            return RoutedExpertSplit.of(layer, 2, router, rows.weightOfCopy());
        }
    }

    private static Rescaling factor(RouterConfig config, Function<ActiveWidths, ScaledMerge> merge) {
        try (MoeLayer layer = layer(config, merge)) {
            RoutedExpertSplit split = split(layer);
            split.layer().close();
            return split.routedDown();
        }
    }
}
