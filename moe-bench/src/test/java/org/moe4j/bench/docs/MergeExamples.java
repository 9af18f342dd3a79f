package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.MergeScale;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The routed and the shared branch. */
final class MergeExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private MergeExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "How routed and shared output are merged", MergeExamples::merged,
                "Gates on shared experts", MergeExamples::gates,
                "Several shared experts", MergeExamples::several);
    }

    private static void merged(Example example) {
        double[] p = example.given("p = (0.28, 0.22, 0.30, 0.20)");
        double[] sizes = example.given("K = 4, F = 2560, d_s = 1280");
        ActiveWidths widths = new ActiveWidths((int) sizes[0], (int) sizes[1], (int) sizes[2]);
        example.ours("d_act = 11,520", (double) widths.active(), 4 * 2560 + 1280);
        example.theirs("Σp² = 0.2568", Plain.sum(Plain.map(x -> x * x, p)));
        example.ours(
                "| `olmo` | 1.12, 0.88, 1.20, 0.80 | 1 | 1 | 1.02418 |",
                row(ScaledMerge.olmo(widths), widths, p),
                row(4, 1, p));
        example.ours(
                "| `routed-unit-sum` | 0.28, 0.22, 0.30, 0.20 | 1 | 0.33333 | 0.16818 |",
                row(ScaledMerge.routedUnitSum(widths), widths, p),
                row(1, 1, p));
        example.ours(
                "| `equal-branch-mass` | 0.14, 0.11, 0.15, 0.10 | 0.5 | 0.16667 | 0.04204 |",
                row(ScaledMerge.equalBranchMass(widths), widths, p),
                row(0.5, 0.5, p));
        example.ours(
                "| `width-proportional` | 0.24889, 0.19556, 0.26667, 0.17778 | 0.11111 | 0.20988 | 0.04646 |",
                row(ScaledMerge.widthProportional(widths), widths, p),
                row(8.0 / 9, 1.0 / 9, p));
        example.ours(
                "| `active-mean` | 0.224, 0.176, 0.240, 0.160 | 0.2 | 0.2 | 0.04097 |",
                row(ScaledMerge.activeMean(4), widths, p),
                row(0.8, 0.2, p));
        MergeScale olmo = MergeScale.of(ScaledMerge.olmo(widths), widths, 0.2568);
        example.ours(
                "ā = 1.000 and R_var ≈ 1.024",
                new double[] {olmo.weightedMean(), olmo.varianceRatio()},
                1,
                11_798.528 / 11_520);
        example.theirs(
                "(2560·16·0.2568 + 1280)/11,520 = 11,798.528/11,520",
                2560,
                16,
                0.2568,
                1280,
                11_520,
                2560 * 16 * 0.2568 + 1280,
                11_520);
        refused(example);
    }

    /** Coefficients of the experts, that of the shared branch, ā and R_var, as the library has them. */
    private static double[] row(ScaledMerge merge, ActiveWidths widths, double[] p) {
        MergeScale scale = MergeScale.of(merge, widths, Plain.sum(Plain.map(x -> x * x, p)));
        return Plain.join(
                Plain.map(x -> merge.routedScale() * x, p),
                merge.sharedScale(),
                scale.weightedMean(),
                scale.varianceRatio());
    }

    /** The same by Equations 84 and 85. */
    private static double[] row(double routed, double shared, double[] p) {
        double[] r = Plain.map(x -> routed * x, p);
        double mean = (2560 * Plain.sum(r) + 1280 * shared) / 11_520;
        double variance = (2560 * Plain.sum(Plain.map(x -> x * x, r)) + 1280 * shared * shared) / 11_520;
        return Plain.join(r, shared, mean, variance);
    }

    private static void refused(Example example) {
        double[] logits = example.given("logits (2, 1, 0, −1)");
        RouterConfig raw = RouterConfig.topK(4, (int) example.givenOne("K = 2"));
        example.theirs("1.7616 instead of 2", 2 * Routed.of(raw, logits).mass(), 2);
        ScaledMerge olmo = ScaledMerge.olmo(new ActiveWidths(2, 1, 1));
        try (TopKRouter router = TopKRouter.random(raw, 1, BACKEND, 1);
                Experts experts = SwiGluExperts.random(new ExpertShape(4, 1, 1), BACKEND, 1);
                Experts shared = SwiGluExperts.random(new ExpertShape(1, 1, 1), BACKEND, 1)) {
            assertThatThrownBy(() -> olmo.requireFits(router, experts, List.of(shared)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("one whose weights may sum to something else");
        }
    }

    private static void gates(Example example) {
        double routed = example.givenOne("Routed output 2");
        double shared = example.givenOne("shared output 4");
        double gate = example.givenOne("x·gᵀ = 1");
        double sigmoid = Plain.sigmoid(1);
        MergePass one = gated(SharedScore.SIGMOID, new double[] {gate}, routed, shared);
        example.ours(
                "2 + 0.7311·4 = 4.9242",
                new double[] {routed, one.sharedFactor(0, 0), shared, output(one)},
                2,
                sigmoid,
                4,
                2 + sigmoid * 4);
        example.theirs("without the gate 6", routed + shared);
        double[] two = example.given("give 3 and 5");
        double[] gates = example.given("x·gᵀ = 1 and 0");
        mixture(example, "0.7311·3 + 0.5·5 = 4.6932", SharedScore.SIGMOID, gates, two, sigmoid, 0.5);
        mixture(example, "0.7311·3 + 0.2689·5 = 3.5379", SharedScore.SOFTMAX, gates, two, sigmoid, 1 - sigmoid);
        mixture(
                example,
                "0.5938·3 + 0.4062·5 = 3.8123",
                SharedScore.NORMALIZED_SIGMOID,
                gates,
                two,
                sigmoid / (sigmoid + 0.5),
                0.5 / (sigmoid + 0.5));
        example.theirs("One gate of 0.7311 on the wide expert, which gives 8: 5.8485", sigmoid, 3 + 5, 8 * sigmoid);
    }

    private static void mixture(
            Example example,
            String phrase,
            SharedScore score,
            double[] gates,
            double[] shared,
            double first,
            double second) {
        MergePass pass = gated(score, gates, 0, shared);
        example.ours(
                phrase,
                new double[] {pass.sharedFactor(0, 0), shared[0], pass.sharedFactor(0, 1), shared[1], output(pass)},
                first,
                3,
                second,
                5,
                first * 3 + second * 5);
    }

    private static MergePass gated(SharedScore score, double[] gates, double routed, double... shared) {
        GatedMerge merge = new GatedMerge(BACKEND.matrix(gates.length, 1, gates), score);
        return pass(merge, routed, shared);
    }

    /** One token, the number 1, with branches that give one number each. */
    private static MergePass pass(MergeConvention merge, double routed, double... shared) {
        List<Matrix> branches =
                Arrays.stream(shared).mapToObj(MergeExamples::single).toList();
        return merge.merge(single(1), single(routed), branches);
    }

    private static Matrix single(double value) {
        return BACKEND.matrix(1, 1, new double[] {value});
    }

    private static double output(MergePass pass) {
        return pass.output().toArray()[0];
    }

    private static void several(Example example) {
        double[] two = example.given("give 3 and 5");
        example.ours("8", output(pass(ScaledMerge.sum(), 0, two)), 8);
        example.theirs("the mean 4", (two[0] + two[1]) / 2);
        example.theirs("doubled 6", 2 * two[0]);
    }
}
