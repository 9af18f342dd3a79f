package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/**
 * Layers beside {@link WideLayer}, output and every gradient, in the units of {@link LayerErrorTest}: small ones on the reference, and in the
 * long form layers as wide as Mixtral's, in a JVM of their own that has 8 GB.
 */
class WideLayerTest {
    private static final int HIDDEN = 4096;
    private static final int WIDTH = 14_336;
    private static final double FORWARD = 4;
    private static final double BACKWARD = 8;

    /** Errors of a layer in units of √max(D, F)·u: of the output, and the largest of the gradients. */
    record Errors(double output, double gradients) {
        @Override
        public String toString() {
            return String.format(Locale.ROOT, "output %.4f, gradients %.4f times sqrt(max(D, F)) u", output, gradients);
        }
    }

    /** Sums of squares of what differs, and of what is expected. */
    private static double relative(double[] actual, int rows, IntFunction<double[]> expected) {
        double distance = 0;
        double size = 0;
        int at = 0;
        for (int i = 0; i < rows; i++) {
            for (double value : expected.apply(i)) {
                distance += (actual[at] - value) * (actual[at] - value);
                size += value * value;
                at++;
            }
        }
        assertThat(actual).hasSize(at);
        return Math.sqrt(distance / size);
    }

    private static MoeLayer layer(WideLayer defined, Backend backend) {
        List<SwiGluWeights> experts = new ArrayList<>();
        for (WideLayer.Expert expert : defined.experts()) {
            experts.add(new SwiGluWeights(expert.gate.on(backend), expert.up.on(backend), expert.down.on(backend)));
        }
        try (Matrix router = defined.router().on(backend)) {
            RouterConfig all = RouterConfig.topK(WideLayer.EXPERTS, WideLayer.EXPERTS);
            return MoeLayer.of(TopKRouter.of(all, router), SwiGluExperts.of(experts));
        } finally {
            experts.forEach(SwiGluWeights::close);
        }
    }

    static Errors errors(Backend backend, int hidden, int width) {
        WideLayer defined = new WideLayer(hidden, width);
        double unit = backend.unitRoundoff() * Math.sqrt(Math.max(hidden, width));
        try (MoeLayer layer = layer(defined, backend);
                Matrix tokens = defined.tokens().on(backend);
                Matrix dOutput = defined.dOutput().on(backend);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Gradients gradients = pass.backward(dOutput)) {
            int t = WideLayer.TOKENS;
            double forward = relative(output.toArray(), t, i -> defined.output()[i]);
            double worst = relative(gradients.input().toArray(), t, i -> defined.dTokens()[i]);
            double[] router = gradients.parameters().get("router.weight").toArray();
            worst = Math.max(worst, relative(router, WideLayer.EXPERTS, i -> defined.dRouter()[i]));
            for (int e = 0; e < WideLayer.EXPERTS; e++) {
                for (String which : List.of("gate", "up", "down")) {
                    double[] actual = gradients
                            .parameters()
                            .get("experts." + e + "." + which)
                            .toArray();
                    int index = e;
                    worst = Math.max(
                            worst,
                            relative(
                                    actual,
                                    which.equals("down") ? hidden : width,
                                    i -> defined.experts().get(index).gradientRow(index, which, i)));
                }
            }
            return new Errors(forward / unit, worst / unit);
        }
    }

    /** The program of the long form. */
    public static void main(String[] backend) {
        System.out.println(errors(Backends.named(backend[0], Backends.Precision.FLOAT32), HIDDEN, WIDTH));
    }

    /** In double both are the same formulas, so that they agree to a few roundings. */
    @Test
    void theDefinitionIsThatOfTheLibrary() {
        Errors errors = errors(ReferenceBackend.instance(), 40, 72);
        assertThat(errors.output()).isPositive().isLessThanOrEqualTo(FORWARD);
        assertThat(errors.gradients()).isPositive().isLessThanOrEqualTo(BACKWARD);
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(strings = {"vector", "nd4j"})
    void aLayerAsWideAsMixtralsIsWithinItsBound(String backend) throws IOException, InterruptedException {
        List<String> options = List.of("-Xmx8g", "--add-modules", "jdk.incubator.vector");
        String printed = ChildJvm.run(Duration.ofMinutes(15), options, WideLayerTest.class, backend);
        Matcher errors = Pattern.compile("output ([\\d.]+), gradients ([\\d.]+) times .*")
                .matcher(printed);
        assertThat(errors.find()).as(printed).isTrue();
        assertThat(Double.parseDouble(errors.group(1))).as(printed).isPositive().isLessThanOrEqualTo(FORWARD);
        assertThat(Double.parseDouble(errors.group(2))).as(printed).isPositive().isLessThanOrEqualTo(BACKWARD);
        Promise.measured(2, "D 4096 and F 14336 on " + backend, errors.group());
    }
}
