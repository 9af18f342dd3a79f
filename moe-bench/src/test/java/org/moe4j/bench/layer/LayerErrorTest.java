package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Promise;

/**
 * How far whole layers are from double precision, with the same routing: draws near a tie are refused, and counted. Outputs are compared
 * with {@link TokenwiseLayer}, a definition that shares no code with the library; gradients with the library's own layer on
 * {@link ReferenceBackend}, whose gradients {@link LayerGradientTest} holds to differences of a definition. Logits are of about unit size; the
 * conventions are those of {@link LayerDraw}.
 *
 * <p>{@code -Dmoe.layers=…} runs so many in the long form.
 *
 * <p>Outputs: {@code ‖y − ŷ‖_F / ‖ŷ‖_F} in units of {@code √max(D, F)·u}. Gradients: the same for each of them, of the largest norm that
 * a gradient of the layer has, or of the size of its losses. In double what is compared with itself rounds as much as the subject; there the unit is {@code √max(D, F)·u} too.
 */
class LayerErrorTest {
    private static final double FORWARD = 4;
    private static final double BACKWARD = 8; // twice: forward and backward one after the other

    private final Map<String, double[]> worst = new TreeMap<>();
    private final int[] refused = new int[1];
    private long layers;
    private long compared;
    private long unseen;

    private void layers(long from, long to, int low, int high) {
        for (long seed = from; seed < to; seed++) {
            LayerCase drawn = withBoundedLosses(LayerDraw.ofUnitLogits(seed, false, low, high, refused));
            layers++;
            double[] output = TokenwiseLayer.output(drawn);
            Map<String, double[]> gradients;
            try (MoeLayer defining = LibraryLayer.of(drawn, ReferenceBackend.instance())) {
                gradients = LayerChecks.gradients(drawn, defining, ReferenceBackend.instance());
            }
            int longest = Math.max(
                    Math.max(drawn.sizes().hidden(), drawn.sizes().width()),
                    Math.max(drawn.shared().width(), drawn.expertHidden()));
            for (Backend backend : LayerChecks.fastBackends()) {
                LayerCase c = LibraryDraws.in(
                        drawn, backend); // factors of a jitter are rounded; the definition has the exact ones
                double unit = backend.unitRoundoff() * Math.sqrt(longest);
                double[] errors = worst.computeIfAbsent(backend.name(), name -> new double[2]);
                try (MoeLayer layer = LibraryLayer.of(c, backend)) {
                    double forward = forward(c, layer, backend, output) / unit;
                    double largest = largest(gradients, ofLosses(c));
                    double backward = backward(gradients, LayerChecks.gradients(c, layer, backend), largest) / unit;
                    count(gradients, BACKWARD * unit * largest);
                    assertThat(forward).as("forward of %s on %s", c, backend).isLessThanOrEqualTo(FORWARD);
                    assertThat(backward).as("gradients of %s on %s", c, backend).isLessThanOrEqualTo(BACKWARD);
                    errors[0] = Math.max(errors[0], forward);
                    errors[1] = Math.max(errors[1], backward);
                }
            }
        }
    }

    private static double forward(LayerCase c, MoeLayer layer, Backend backend, double[] expected) {
        try (Matrix tokens = c.tokens().on(backend);
                Matrix y = layer.apply(tokens, LibraryLayer.context(c))) {
            double distance = distance(y.toArray(), expected);
            return distance == 0 ? 0 : distance / norm(expected);
        }
    }

    /** What a gradient of losses is made of, even where its terms cancel: with all experts chosen a balance loss has none. */
    private static double ofLosses(LayerCase c) {
        double sum = c.training().losses().stream()
                .mapToDouble(LossWords::coefficient)
                .sum();
        return sum / Math.max(1, c.sizes().tokens());
    }

    /**
     * Without the load losses of noisy routers. The rounding of a logit shows in their gradients as their second derivative says, which the
     * variance of the noise and the mean load divide, and both may be small: they have no bound in these units. {@link LayerGradientTest} has them.
     */
    private static LayerCase withBoundedLosses(LayerCase c) {
        return c.withLosses(c.training().losses().stream()
                .filter(loss -> !loss.formula().endsWith("-load"))
                .toList());
    }

    private static double largest(Map<String, double[]> gradients, double least) {
        return Math.max(
                least,
                gradients.values().stream()
                        .mapToDouble(LayerErrorTest::norm)
                        .max()
                        .orElse(0));
    }

    /** Gradients that are not zero, and those that are so small beside the largest that they could be wholly wrong and pass. */
    private void count(Map<String, double[]> expected, double allowed) {
        for (double[] gradient : expected.values()) {
            double norm = norm(gradient);
            compared += norm > 0 ? 1 : 0;
            unseen += norm > 0 && norm <= allowed ? 1 : 0;
        }
    }

    private static double backward(Map<String, double[]> expected, Map<String, double[]> actual, double largest) {
        double distance = 0;
        for (Map.Entry<String, double[]> gradient : expected.entrySet()) {
            distance = Math.max(distance, distance(actual.get(gradient.getKey()), gradient.getValue()));
        }
        return distance == 0 ? 0 : distance / largest;
    }

    static double norm(double[] values) {
        double squares = 0;
        for (double value : values) {
            squares += value * value;
        }
        return Math.sqrt(squares);
    }

    static double distance(double[] a, double[] b) {
        assertThat(a).hasSameSizeAs(b);
        double squares = 0;
        for (int i = 0; i < a.length; i++) {
            squares += (a[i] - b[i]) * (a[i] - b[i]);
        }
        return Math.sqrt(squares);
    }

    private void keep(String which) {
        assertThat(refused[0]).as("draws refused, of %d layers", layers).isLessThan((int) (layers / 10));
        assertThat(unseen)
                .as("of %d gradients those that could be wholly wrong within the bound", compared)
                .isLessThan(Math.max(1, compared / 1_000));
        worst.forEach((backend, errors) -> Promise.measured(
                2,
                "layers on " + backend + ", " + which,
                String.format(
                        Locale.ROOT,
                        "%,d layers: output %.2f, gradients %.2f times sqrt(max(D, F)) u; %,d draws refused; on all backends"
                                + " %,d of %,d gradients below what may differ",
                        layers,
                        errors[0],
                        errors[1],
                        refused[0],
                        unseen,
                        compared)));
    }

    @Test
    void everyLayerIsWithinItsBound() {
        layers(0, 330, 8, 40);
        layers(800, 802, 100, 513);
        keep("every run");
    }

    @Test
    @Tag("soak")
    void manyLayersAreWithinTheirBounds() {
        layers(10_000, 10_000 + Long.getLong("moe.layers", 100_000), 8, 33);
        layers(110_000, 110_300, 33, 513);
        keep("soak");
    }
}
