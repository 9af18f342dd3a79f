package org.moe4j.bench.study.reparameterization;

import java.util.Locale;
import java.util.stream.Collectors;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;
import org.moe4j.bench.support.Decimal;

/** The setup of the study's page. */
final class ReparameterizationSetup {
    private ReparameterizationSetup() {}

    static String text(ReparameterizationResult result) {
        return String.join(
                "\n",
                layers(result),
                "- Rewritten by `ConventionRewrite`, with the factors c of the routed and the shared down projections: "
                        + factors(result) + ".",
                training(result),
                "- Mapped as `Rescaling` says, for the down projections alone: rate × c² for SGD, × c for AdamW and Muon; ε"
                        + " / c; decay / c² for SGD, / c for the others; why, in"
                        + " [derivations](../derivations.md#8-constants-moved-into-weights-in-training).",
                "- Clipping: both layers multiply all gradients by min(1, " + plain(Trajectory.CLIPPING.most())
                        + " / ‖g‖) and are compared with each other; the original clips " + clipped(result)
                        + " of its steps. Half-way: rewritten after "
                        + result.settings().half()
                        + " steps, with the optimizer's state.",
                "- Measured every " + result.settings().every() + " steps on "
                        + result.settings().heldOut()
                        + " tokens that no layer learns from: largest difference of the outputs over the largest output of"
                        + " the original, and the same for W'/c beside W, matrix by matrix. The table has the largest over"
                        + " the steps, and in its last column the largest over matrices and conventions.");
    }

    private static String layers(ReparameterizationResult result) {
        return "- Layers: D " + ReparameterizationLayers.HIDDEN + ", E " + ReparameterizationLayers.EXPERTS + ", K "
                + ReparameterizationLayers.TOP_K + ", d_r " + ReparameterizationLayers.ROUTED_WIDTH
                + ", one shared expert with d_s " + ReparameterizationLayers.SHARED_WIDTH
                + ", softmax over the logits of the selected experts. " + result.backend()
                + ". A random teacher gives targets, plus normal noise of standard deviation "
                + plain(ReparameterizationLayers.NOISE)
                + "; the original is another random layer under the convention `olmo`.";
    }

    private static String factors(ReparameterizationResult result) {
        return result.runs().get(0).lines(Treatment.MAPPED).stream()
                .map(line -> "`" + line.convention() + "` " + plain(line.routed()) + " and " + plain(line.shared()))
                .collect(Collectors.joining(", "));
    }

    private static String training(ReparameterizationResult result) {
        return "- Training: " + result.settings().steps() + " steps of "
                + result.settings().tokens()
                + " fresh tokens on the mean squared error, every parameter learned, the router too; the same tokens for all."
                + " SGD (rate " + plain(Descent.SGD.rate()) + "; with momentum " + plain(Descent.SGD_KEPT) + " rate "
                + plain(Descent.MOMENTUM.rate()) + "), decay " + plain(Descent.PENALTY)
                + " as a part of the gradient. AdamW (rate " + plain(Descent.ADAMW.rate()) + ", β "
                + plain(Descent.MEAN_KEPT) + " and " + plain(Descent.SQUARE_KEPT) + ", ε "
                + small(Descent.ADAM_EPSILON) + ") and Muon (rate " + plain(Descent.MUON.rate()) + ", momentum "
                + plain(Descent.MUON_KEPT) + ", ε " + small(Descent.MUON_EPSILON) + "), decay "
                + plain(Descent.DECAY) + " decoupled. The original's loss on held-out tokens goes from "
                + number(result.runs().get(0).startLoss()) + " to "
                + result.runs().stream()
                        .map(run -> number(run.endLoss()) + " (" + run.descent().phrase() + ")")
                        .collect(Collectors.joining(", "))
                + ".";
    }

    private static String clipped(ReparameterizationResult result) {
        double least = result.runs().stream().mapToDouble(Run::clipped).min().orElseThrow();
        double most = result.runs().stream().mapToDouble(Run::clipped).max().orElseThrow();
        return String.format(Locale.ROOT, "%.0f to %.0f %%", 100 * least, 100 * most);
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }

    private static String small(double value) {
        return String.format(Locale.ROOT, "%.0e", value);
    }

    /** Without a superfluous point, as 4 and 4.5. */
    static String plain(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Decimal.of(value);
    }
}
