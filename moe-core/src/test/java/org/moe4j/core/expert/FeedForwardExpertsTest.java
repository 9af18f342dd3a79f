package org.moe4j.core.expert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.TokenwiseExperts;
import org.moe4j.core.testing.TokenwiseFeedForward;
import org.moe4j.core.vector.VectorBackend;

class FeedForwardExpertsTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final int[] ROWS = {0, 3, 1, 1, 2, 0};
    private static final RowGroups GROUPS = RowGroups.ofSizes(3, 0, 2, 1);

    static Stream<Arguments> kinds() {
        return PlainActivations.ALL.stream()
                .flatMap(activation -> Stream.of(Arguments.of(activation, false), Arguments.of(activation, true)));
    }

    private static FeedForwardExperts experts(Activation activation, boolean biases) {
        Initializer wide = Initializer.normal(1); // so that some elements are beyond a limit of 2.5
        return FeedForwardExperts.random(new ExpertShape(4, 5, 3, activation, biases), BACKEND, 7, wide, wide);
    }

    private static Matrix tokens() {
        return Initializer.normal(1).draw(BACKEND, 4, 5, 8);
    }

    private static Matrix dOutput() {
        return Initializer.normal(1).draw(BACKEND, 6, 5, 9);
    }

    /** {@code Σ output ⊙ dOutput} by the definition on plain arrays. */
    private static double loss(Activation activation, Parameters parameters, Matrix tokens) {
        double[][] x = TokenwiseExperts.rows(tokens.toArray(), 4, 5);
        double[][] d = TokenwiseExperts.rows(dOutput().toArray(), 6, 5);
        double sum = 0;
        for (int e = 0; e < 4; e++) {
            TokenwiseFeedForward expert = TokenwiseFeedForward.of(activation, parameters.under(Integer.toString(e)));
            for (int i = GROUPS.from(e); i < GROUPS.to(e); i++) {
                sum += TokenwiseExperts.dot(expert.output(x[ROWS[i]]), d[i]);
            }
        }
        return sum;
    }

    @ParameterizedTest(name = "{0}, biases {1}")
    @MethodSource("kinds")
    void everyGradientAgreesWithCentralDifferencesOfTheDefinition(Activation activation, boolean biases) {
        FeedForwardExperts experts = experts(activation, biases);
        Matrix tokens = tokens();
        Gradients gradients = experts.forward(tokens, ROWS, GROUPS).backward(dOutput());
        Parameters parameters = experts.parameters();
        assertThat(gradients.parameters().names()).isEqualTo(parameters.names());
        double norm = 0;
        for (String name : parameters.names()) {
            norm = Math.max(
                    norm,
                    FiniteDifferences.norm(gradients.parameters().get(name).toArray()));
        }
        for (String name : parameters.names()) {
            Matrix value = parameters.get(name);
            double[] numeric = FiniteDifferences.gradient(
                    at -> {
                        Matrix moved = BACKEND.matrix(value.rows(), value.columns(), at);
                        return loss(activation, parameters.map((n, v) -> n.equals(name) ? moved : v), tokens);
                    },
                    value.toArray());
            double[] analytic = gradients.parameters().get(name).toArray();
            assertThat(FiniteDifferences.worst(analytic, numeric, norm))
                    .as(name)
                    .isLessThanOrEqualTo(1);
        }
        double[] numeric = FiniteDifferences.gradient(
                at -> loss(activation, parameters, BACKEND.matrix(4, 5, at)), tokens.toArray());
        double[] analytic = new double[20];
        for (int i = 0; i < ROWS.length; i++) {
            for (int c = 0; c < 5; c++) {
                analytic[ROWS[i] * 5 + c] += gradients.input().get(i, c);
            }
        }
        assertThat(FiniteDifferences.worst(analytic, numeric, norm))
                .as("tokens")
                .isLessThanOrEqualTo(1);
    }

    @ParameterizedTest(name = "{0}, biases {1}")
    @MethodSource("kinds")
    void wantedGradientsAreAddedAndNothingElseIsTouched(Activation activation, boolean biases) {
        for (Backend backend : List.of(BACKEND, VectorBackend.float64(), Nd4jBackend.float64())) {
            ExpertShape shape = new ExpertShape(4, 5, 3, activation, biases);
            FeedForwardExperts experts = FeedForwardExperts.random(shape, backend, 7);
            ExpertsPass pass = experts.forward(backend.copyOf(tokens()), ROWS, GROUPS);
            Matrix d = backend.copyOf(dOutput());
            Gradients fresh = pass.backward(d);
            Parameters into = experts.parameters().map((name, like) -> {
                Matrix buffer = backend.buffer(like.rows(), like.columns());
                backend.accumulate(0, buffer, 0, like);
                return buffer;
            });
            Set<String> wanted = new LinkedHashSet<>(into.names());
            wanted.removeIf(name -> name.startsWith("2.") || name.equals("0.up"));
            Matrix input = pass.backward(d, wanted, into);
            assertThat(input.toArray()).isEqualTo(fresh.input().toArray());
            for (String name : into.names()) {
                double[] old = experts.parameters().get(name).toArray();
                double[] gradient = fresh.parameters().get(name).toArray();
                double[] sum = into.get(name).toArray();
                for (int i = 0; i < sum.length; i++) {
                    double expected = wanted.contains(name) ? old[i] + gradient[i] : old[i];
                    assertThat(sum[i]).as(name).isCloseTo(expected, within(wanted.contains(name) ? 1e-14 : 0));
                }
            }
            assertThatThrownBy(() -> pass.backward(d, Set.of("0.up", "5.up"), into))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("wanted: expected names of weights, as 0.up but was [");
        }
    }

    @Test
    void theDownBiasIsPartOfTheOutputAndTheInnerOnesAreActivated() {
        Parameters weights = Parameters.of(Map.of(
                "up", BACKEND.matrix(1, 1, new double[] {1}),
                "down", BACKEND.matrix(1, 1, new double[] {2}),
                "upBias", BACKEND.matrix(1, 1, new double[] {-3}),
                "downBias", BACKEND.matrix(1, 1, new double[] {0.5})));
        try (FeedForwardExperts experts = FeedForwardExperts.of(new Relu(), List.of(weights))) {
            Matrix tokens = BACKEND.matrix(2, 1, new double[] {1, 5});
            double[] y =
                    experts.apply(tokens, new int[] {0, 1}, RowGroups.single(2)).toArray();
            assertThat(y).containsExactly(0.5, 4.5); // 2·relu(1 − 3) + 0.5 and 2·relu(5 − 3) + 0.5
            assertThat(experts.shape()).isEqualTo(new ExpertShape(1, 1, 1, new Relu(), true));
        }
    }

    @Test
    void plainSwiGluDrawsWhatSwiGluExpertsDraw() {
        ExpertShape shape = new ExpertShape(2, 4, 3);
        Parameters general = FeedForwardExperts.random(shape, BACKEND, 5).parameters();
        Parameters typed = SwiGluExperts.random(shape, BACKEND, 5).parameters();
        assertThat(general.names()).isEqualTo(typed.names());
        general.names()
                .forEach(name -> assertThat(general.get(name).toArray())
                        .isEqualTo(typed.get(name).toArray()));
        ExpertShape other = new ExpertShape(2, 4, 3, new Relu(), false);
        assertThatThrownBy(() -> SwiGluExperts.random(other, BACKEND, 5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("shape: expected plain SwiGLU experts without biases but was ExpertShape[")
                .hasMessageEndingWith("; use FeedForwardExperts for others");
    }

    @ParameterizedTest(name = "{0}, biases {1}")
    @MethodSource("kinds")
    void parametersGoInAndOut(Activation activation, boolean biases) {
        FeedForwardExperts experts = experts(activation, biases);
        assertThat(experts.parameters().names()).hasSize(4 * (activation.gated() ? 3 : 2) * (biases ? 2 : 1));
        double[] y = experts.apply(tokens(), ROWS, GROUPS).toArray();
        FeedForwardExperts same = experts.withParameters(experts.parameters());
        assertThat(same.apply(tokens(), ROWS, GROUPS).toArray()).isEqualTo(y);
        List<Parameters> each = Stream.of(0, 1, 2, 3).map(experts::expert).toList();
        FeedForwardExperts again = FeedForwardExperts.of(activation, each);
        each.forEach(Parameters::close);
        experts.close();
        assertThat(again.shape()).isEqualTo(same.shape());
        assertThat(again.apply(tokens(), ROWS, GROUPS).toArray()).isEqualTo(y);
    }

    @Test
    void expertsThatDoNotFitAreNamed() {
        FeedForwardExperts experts = experts(new Relu(), true);
        Parameters first = experts.expert(0);
        assertThatThrownBy(() -> FeedForwardExperts.of(new Relu(), List.of()))
                .hasMessage("experts: expected at least 1 expert but was an empty list");
        assertThatThrownBy(() -> FeedForwardExperts.of(new SwiGlu(), List.of(first)))
                .hasMessage("parameters: expected a matrix named gate but was a set without it");
        Parameters smaller = FeedForwardExperts.random(new ExpertShape(1, 5, 2, new Relu(), true), BACKEND, 1)
                .expert(0);
        assertThatThrownBy(() -> FeedForwardExperts.of(new Relu(), List.of(first, smaller)))
                .hasMessage("experts[1].up: expected 3 x 5 (sizes of experts[0].up) but was 2 x 5");
        Parameters bare = FeedForwardExperts.random(new ExpertShape(1, 5, 3, new Relu(), false), BACKEND, 1)
                .expert(0);
        assertThatThrownBy(() -> FeedForwardExperts.of(new Relu(), List.of(first, bare)))
                .hasMessage("parameters: expected a matrix named upBias but was a set without it");
        assertThatThrownBy(() -> experts.expert(4)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
