package org.moe4j.checkpoint.census;

import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.MergeScale;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;

/**
 * What a model's router and merge predict of a fresh MoE layer by {@link MergeScale}: for tokens whose logits are all equal, and for
 * tokens whose logits are independent normal numbers, drawn under a fixed seed in {@code double} and routed by the model's own rules. A
 * gate on the shared experts is at {@code σ(0) = 1/2}, a selection bias at 0. Projections of a latent space and norms around the layer
 * have no part in it.
 *
 * @param routedScale α, what the merge multiplies the router's weights by
 * @param sharedScale s, what it multiplies the shared experts by; 0 without any
 * @param logitSpread standard deviation of the normal logits
 * @param uniform for equal logits
 * @param normal for normal logits
 */
public record InitialMerge(
        double routedScale, double sharedScale, double logitSpread, Prediction uniform, Prediction normal) {
    /** Tokens with normal logits. */
    public static final int TOKENS = 4096;

    /** What the normal logits are drawn from. */
    public static final long SEED = 1;

    /** Standard deviation of fresh weights where a configuration does not say: the default of every family's own code. */
    public static final double USUAL_RANGE = 0.02;

    /** Logits of all tokens are in memory: a few words of a configuration may not ask for more than some hundred megabytes. */
    private static final int MOST_EXPERTS = 4096;

    private static final String RANGE = "initializer_range";

    /**
     * Means over tokens, and what follows from them.
     *
     * @param sumOfWeights {@code Σp} of a token's K router weights
     * @param sumOfSquares {@code Σp²}
     * @param errorOfSum standard error of {@code Σp}; 0 for one token
     * @param errorOfSquares standard error of {@code Σp²}; 0 for one token
     * @param scale for {@code r = α·p}
     */
    public record Prediction(
            double sumOfWeights, double sumOfSquares, double errorOfSum, double errorOfSquares, MergeScale scale) {}

    /**
     * The prediction for a model. A token has D numbers of variance 1, so that its logits vary by {@code initializer_range·√D}.
     *
     * @param config names the range, or {@link #USUAL_RANGE} counts
     * @param preset the settings of its layers
     * @return the prediction
     * @throws IllegalArgumentException for a range that is no number of at least 0, or settings that do not go together
     */
    public static InitialMerge of(ModelConfig config, Preset preset) {
        String text = config.text(RANGE).orElse(Double.toString(USUAL_RANGE));
        double range;
        try {
            range = Double.parseDouble(text);
        } catch (NumberFormatException e) {
            throw config.wrong(RANGE, "a number", text);
        }
        if (!(range >= 0) || Double.isInfinite(range)) {
            throw config.wrong(RANGE, "a finite number of at least 0", text);
        }
        return of(preset, range * Math.sqrt(ExpertShape.tokenWidth(preset)));
    }

    /**
     * The prediction for a preset.
     *
     * @param preset settings of a layer
     * @param logitSpread standard deviation of the normal logits, at least 0
     * @return the prediction
     * @throws IllegalArgumentException for settings that do not go together, or more than 4096 experts
     */
    public static InitialMerge of(Preset preset, double logitSpread) {
        Factors factors = Factors.of(preset);
        RouterConfig router = RouterConfig.from(preset);
        if (router.experts() > MOST_EXPERTS) {
            throw preset.section("experts")
                    .wrong(
                            "count",
                            "at most " + MOST_EXPERTS + " for a prediction",
                            Integer.toString(router.experts()));
        }
        try (Matrix zeros = ReferenceBackend.instance().matrix(1, router.experts(), new double[router.experts()]);
                Matrix logits = Initializer.normal(logitSpread)
                        .draw(ReferenceBackend.instance(), TOKENS, router.experts(), SEED)) {
            return new InitialMerge(
                    factors.routed(),
                    factors.shared(),
                    logitSpread,
                    factors.prediction(routing(router, zeros)),
                    factors.prediction(routing(router, logits)));
        }
    }

    private static Routing routing(RouterConfig router, Matrix logits) {
        return router.selectionBias()
                ? router.routing(logits, SelectionBias.zeros(router.experts()))
                : router.routing(logits);
    }

    private record Factors(ActiveWidths widths, double routed, double shared) {
        static Factors of(Preset preset) {
            ActiveWidths widths = ActiveWidths.of(preset);
            PresetSection merge = preset.section("merge");
            if (merge.isEmpty()) {
                return new Factors(widths, 1, widths.sharedWidth() == 0 ? 0 : 1);
            }
            if (merge.text("convention", "").equals("sigmoid-gated")) {
                return new Factors(widths, 1, 0.5);
            }
            try (MergeConvention convention = MergeConvention.from(preset, ReferenceBackend.instance(), 0)) {
                if (convention instanceof ScaledMerge scaled) {
                    return new Factors(
                            widths, scaled.routedScale(), widths.sharedWidth() == 0 ? 0 : scaled.sharedScale());
                }
            }
            throw Require.expected("merge", "fixed factors or a sigmoid gate", merge.text("convention", ""));
        }

        Prediction prediction(Routing routing) {
            Mean sums = new Mean();
            Mean squares = new Mean();
            for (int t = 0; t < routing.tokens(); t++) {
                double sum = 0;
                double sumOfSquares = 0;
                for (int i = 0; i < routing.count(t); i++) {
                    double weight = routing.weight(t, i);
                    sum += weight;
                    sumOfSquares += weight * weight;
                }
                sums.add(sum);
                squares.add(sumOfSquares);
            }
            return new Prediction(
                    sums.mean(),
                    squares.mean(),
                    sums.standardError(),
                    squares.standardError(),
                    MergeScale.ofMoments(widths, routed * sums.mean(), routed * routed * squares.mean(), shared));
        }
    }

    /** A mean and its standard error, by Welford's recurrence. */
    private static final class Mean {
        private int count;
        private double mean;
        private double squares;

        void add(double value) {
            count++;
            double off = value - mean;
            mean += off / count;
            squares += off * (value - mean);
        }

        double mean() {
            return mean;
        }

        double standardError() {
            return count < 2 ? 0 : Math.sqrt(squares / (count - 1) / count);
        }
    }
}
