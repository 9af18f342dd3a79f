package org.moe4j.router;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/**
 * A router for experts that were split into m parts each: E·m experts, K·m of them per token, and every part has the row of the expert it
 * comes from, as well as its bias. Expert e's parts are e·m … e·m + m − 1. They have one logit and stand together in the library's
 * order (of equal scores the lower index first), so that all parts of an expert are selected or none, also where experts tie.
 *
 * <p>A part then has the weight q of its expert's, by what the weights are made of ({@link #weightOfCopy(RouterConfig, int)}):
 *
 * <ul>
 *   <li>softmax over all experts without renormalisation: {@code q = 1/m}, as the sum of the powers is m times as large;
 *   <li>sigmoids and square roots of softplus without renormalisation: {@code q = 1};
 *   <li>weights that are divided by their sum, and softmax of the selected: {@code q = 1/m}; by their p-norm: {@code q = m^(−1/p)}.
 * </ul>
 *
 * <p>Parts whose outputs are multiplied by 1/q therefore add up to what the expert was. The function is the same; the training is not:
 * the rows of an expert's parts get gradients of their own (which add up to that of the row they came from) and part with the
 * first step.
 *
 * <p>A selection bias that is added to softmax scores is divided by m as those are. Such sums, and those that groups are ranked by, are
 * rounded anew: experts whose scores with the bias, or groups whose sums, are closer than that rounding may change places, with all
 * their parts.
 *
 * <p>A product of
 * {@link RouterPrecision#BACKEND} need not give equal logits for equal rows on every backend; where an expert's parts then straddle the K·m-th
 * place, some of them are selected with the parts of another expert. {@link RouterPrecision#DOUBLE} and the reference backend keep them
 * together.
 *
 * <p>Sources: the virtual groups of {@code NVIDIA/Megatron-LM} upcycling ({@code megatron/core/transformer/moe/upcycling_utils.py},
 * {@code moe_upcycling_granularity}), where router rows are repeated; He et al. 2024, arXiv:2410.07524.
 */
public final class InheritedRows {
    private final TopKRouter router;
    private final int copies;
    private final double weightOfCopy;

    private InheritedRows(TopKRouter router, int copies, double weightOfCopy) {
        this.router = router;
        this.copies = copies;
        this.weightOfCopy = weightOfCopy;
    }

    /**
     * The router of the parts.
     *
     * @param router of the experts; it stays as it is
     * @param copies m, at least 1
     * @return a router with parameters of its own, and its q
     * @throws IllegalArgumentException for a router whose parts would not compute the same together: see
     *     {@link #weightOfCopy(RouterConfig, int)}; also for noise on the logits, which parts expert from expert, and for losses, whose values
     *     are other numbers for other experts
     */
    public static InheritedRows of(TopKRouter router, int copies) {
        double weight = weightOfCopy(router.config(), copies);
        router.noise()
                .filter(noise -> !(noise instanceof RouterNoise.InputJitter))
                .ifPresent(noise -> {
                    throw Require.expected("router.noise", "none on the logits, which copies would not share", noise);
                });
        if (!router.losses().isEmpty()) {
            throw Require.expected(
                    "router.losses",
                    "none (values and gradients are other numbers for other experts)",
                    router.losses(),
                    "router.withLosses() has none; give the result its own");
        }
        return new InheritedRows(repeated(router, copies), copies, weight);
    }

    /**
     * The weight of a copy over that of its expert. A single copy is the expert itself, whatever the conventions.
     *
     * @param config conventions of the router of the experts
     * @param copies m, at least 1
     * @return q: 1, 1/m or {@code m^(−1/p)}
     * @throws IllegalArgumentException where there is no such number or copies are not selected together: selections other than plain and
     *     group-limited ones; groups ranked by a given number of scores above 1, which copies of the best would fill; an epsilon whose share of
     *     the sum changes
     */
    public static double weightOfCopy(RouterConfig config, int copies) {
        Require.atLeast("copies", copies, 1);
        if ((long) config.experts() * copies > Integer.MAX_VALUE) {
            throw Require.expected("copies", "at most 2^31 - 1 experts in all", (long) config.experts() * copies);
        }
        if (copies == 1) {
            return 1;
        }
        requireSelection(config.selection());
        boolean shared = config.score() instanceof ScoreFunction.Softmax; // copies share what their expert had
        Renormalization renormalization = config.renormalization();
        if (renormalization instanceof Renormalization.None && !shared) {
            return 1;
        }
        if (renormalization instanceof Renormalization.Norm norm && norm.p() != 1) {
            return StrictMath.pow(copies, -1 / norm.p());
        }
        if (renormalization instanceof Renormalization.Sum sum && sum.epsilon() > 0) {
            requireEpsilon(sum, shared);
        }
        return 1.0 / copies;
    }

    private static void requireSelection(ExpertSelection selection) {
        if (selection instanceof ExpertSelection.GroupLimited limited) {
            if (limited.groupScore() instanceof GroupScore.SumOfBest best && best.m() > 1) {
                throw Require.expected(
                        "selection.groupScore",
                        "one that counts an expert once, or as often as all its copies",
                        best,
                        "copies of a group's best would stand for its others");
            }
        } else if (!(selection instanceof ExpertSelection.PlainTopK)) {
            throw Require.expected(
                    "selection",
                    "one that takes the K·m best of a token's scores, PlainTopK or GroupLimited",
                    selection,
                    "copies of an expert are not selected together otherwise");
        }
    }

    /** The selected scores add up to what they did when copies share it, and else to m times as much. */
    private static void requireEpsilon(Renormalization.Sum sum, boolean shared) {
        boolean perScore = sum.place() == Renormalization.EpsilonPlace.PER_SCORE;
        if (shared == perScore) {
            throw Require.expected(
                    "renormalization.epsilon",
                    "0 where its share of the sum changes with copies ("
                            + (shared
                                    ? "one per score, whose number is m times as large)"
                                    : "scores add up to m times as much)"),
                    sum,
                    "Renormalization.Sum without an epsilon differs only where that matters");
        }
    }

    private static TopKRouter repeated(TopKRouter router, int copies) {
        RouterConfig config = router.config();
        RouterConfig wide = config.withExperts(config.experts() * copies).withTopK(config.topK() * copies);
        try (Unfinished made = new Unfinished()) {
            Parameters own = made.add(router.parameters());
            Matrix weight = made.add(rows(own.get(RouterWeights.WEIGHT), copies));
            TopKRouter plain = made.add(
                    config.logitBias()
                            ? TopKRouter.of(wide, weight, made.add(columns(own.get(RouterWeights.BIAS), copies)))
                            : TopKRouter.of(wide, weight));
            Optional<SelectionBias> bias = router.selectionBias().map(given -> repeated(given, config, copies));
            TopKRouter biased = made.add(bias.map(plain::withSelectionBias).orElse(plain));
            TopKRouter result = made.add(router.noise().map(biased::withNoise).orElse(biased));
            return result.withLosses(); // by handles of its own, as the others are closed here
        }
    }

    private static SelectionBias repeated(SelectionBias given, RouterConfig config, int copies) {
        boolean smaller = config.score() instanceof ScoreFunction.Softmax
                && !config.renormalization().ofLogits();
        double[] values = given.values();
        double[] all = new double[values.length * copies];
        Arrays.setAll(all, e -> smaller ? values[e / copies] / copies : values[e / copies]);
        return SelectionBias.of(all);
    }

    /** Each row m times. */
    private static Matrix rows(Matrix rows, int copies) {
        return rows.backend().matrix(rows.rows() * copies, rows.columns(), new RowSource() {
            @Override
            public void read(int row, float[] into) {
                rows.readRows(row / copies, row / copies + 1, into);
            }

            @Override
            public void read(int row, double[] into) {
                rows.readRows(row / copies, row / copies + 1, into);
            }
        });
    }

    /** Each number of a row m times. */
    private static Matrix columns(Matrix row, int copies) {
        double[] values = row.toArray();
        double[] all = new double[values.length * copies];
        Arrays.setAll(all, i -> values[i / copies]);
        return row.backend().matrix(1, all.length, all);
    }

    /**
     * The router of the parts.
     *
     * @return E·m experts, K·m of them per token; the caller's
     */
    public TopKRouter router() {
        return router;
    }

    /**
     * How many parts an expert has.
     *
     * @return m
     */
    public int copies() {
        return copies;
    }

    /**
     * The weight of a part over that of its expert.
     *
     * @return q: 1, 1/m or {@code m^(−1/p)}
     */
    public double weightOfCopy() {
        return weightOfCopy;
    }
}
