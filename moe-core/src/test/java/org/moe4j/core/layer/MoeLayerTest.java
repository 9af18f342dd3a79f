package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.TokenwiseExperts;

/** The pipeline with a fixed routing; with real routers and merges it is tested where every module is at hand. */
class MoeLayerTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final int[] EXPERTS = {2, 0, 1, 2, 0, 2};
    private static final double[] WEIGHTS = {.7, .3, .5, .4, .9, .2};

    private final SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(3, 4, 5), BACKEND, 1);
    private final SwiGluExperts wide = SwiGluExperts.random(new ExpertShape(1, 4, 7), BACKEND, 2);
    private final SwiGluExperts narrow = SwiGluExperts.random(new ExpertShape(1, 4, 2), BACKEND, 3);
    private final Matrix tokens = Initializer.normal(1).draw(BACKEND, 3, 4, 4);
    private final MoeLayer layer = MoeLayer.of(new FixedRouter(Routing.of(3, 2, EXPERTS, WEIGHTS)), experts);

    private static TokenwiseExperts.Expert plain(SwiGluWeights weights) {
        return new TokenwiseExperts.Expert(rows(weights.gate()), rows(weights.up()), rows(weights.down()));
    }

    private static double[][] rows(Matrix matrix) {
        return TokenwiseExperts.rows(matrix.toArray(), matrix.rows(), matrix.columns());
    }

    private double[][] routed(double[] weights) {
        TokenwiseExperts.Expert[] bank = new TokenwiseExperts.Expert[3];
        for (int e = 0; e < 3; e++) {
            bank[e] = plain(experts.expert(e));
        }
        int[][] chosen = new int[3][];
        double[][] w = new double[3][];
        for (int t = 0; t < 3; t++) {
            chosen[t] = new int[] {EXPERTS[2 * t], EXPERTS[2 * t + 1]};
            w[t] = new double[] {weights[2 * t], weights[2 * t + 1]};
        }
        return TokenwiseExperts.routed(rows(tokens), chosen, w, bank);
    }

    private static void assertRows(Matrix actual, double[][] expected) {
        for (int t = 0; t < expected.length; t++) {
            for (int d = 0; d < expected[t].length; d++) {
                assertThat(actual.get(t, d)).isCloseTo(expected[t][d], within(1e-13));
            }
        }
    }

    @Nested
    class Forward {
        @Test
        void equalsTheTokenwiseDefinition() {
            MoePass pass = layer.forward(tokens);
            assertRows(pass.output(), routed(WEIGHTS));
            assertRows(layer.apply(tokens), routed(WEIGHTS));
            assertThat(pass.routedOutput().toArray()).isEqualTo(pass.output().toArray());
            assertThat(pass.sharedOutputs()).isEmpty();
            assertThat(pass.auxiliaryLoss()).isZero();
            assertThat(pass.routerPass().routing()).isSameAs(pass.routing());
        }

        @Test
        void capacityDropsLaterTokensAndDoesNotRenormalise() {
            // expert 2 is chosen by tokens 0, 1, 2; a factor of 1 lets it take ceil(6 / 3) = 2 of them
            MoeLayer limited = layer.withCapacity(Capacity.factor(1));
            MoePass pass = limited.forward(tokens);
            double[] kept = WEIGHTS.clone();
            kept[5] = 0;
            assertThat(pass.droppedAssignments()).isEqualTo(1);
            assertRows(pass.output(), routed(kept));
            assertRows(limited.apply(tokens), routed(kept));
            assertThat(pass.coefficients().routed(2, 1)).isZero();
            assertThat(pass.coefficients().routed(2, 0)).isEqualTo(.9);
        }

        @Test
        void sharedExpertsOfAnyWidthsAreMerged() {
            MoeLayer merged = layer.withShared(new SharedBranch(List.of(wide, narrow), new WeightedMerge()));
            MoePass pass = merged.forward(tokens);
            double[][] expected = routed(WEIGHTS);
            for (int t = 0; t < 3; t++) {
                double[] first = TokenwiseExperts.expert(rows(tokens)[t], plain(wide.expert(0)));
                double[] second = TokenwiseExperts.expert(rows(tokens)[t], plain(narrow.expert(0)));
                for (int d = 0; d < 4; d++) {
                    expected[t][d] = 2 * expected[t][d] + 3 * (first[d] + second[d]);
                }
            }
            assertRows(pass.output(), expected);
            assertRows(merged.apply(tokens), expected);
            assertThat(pass.coefficients().routed(1, 0)).isEqualTo(2 * .5);
            assertThat(pass.coefficients().shared(1, 1)).isEqualTo(3);
            assertThat(pass.sharedOutputs()).hasSize(2);
        }

        @Test
        void applyIntoOverwritesItsBuffer() {
            Matrix output = BACKEND.buffer(3, 4);
            layer.applyInto(tokens, output);
            layer.applyInto(tokens, output);
            assertThat(output.toArray()).isEqualTo(layer.apply(tokens).toArray());
        }

        @Test
        void manyTokensAreWorkedOffInChunks() {
            // 2²⁶ numbers of scratch at K 1, D 1, F 50,000 bound a chunk to 447 tokens
            SwiGluExperts narrowTokens = SwiGluExperts.random(new ExpertShape(2, 1, 50_000), BACKEND, 1);
            int[] chosen = new SplittableRandom(1).ints(600, 0, 2).toArray();
            double[] ones = new double[600];
            Arrays.fill(ones, 1);
            MoeLayer chunked = MoeLayer.of(new FixedRouter(Routing.of(2, 1, chosen, ones)), narrowTokens);
            Matrix many = Initializer.normal(1).draw(BACKEND, 600, 1, 5);
            assertThat(chunked.apply(many).toArray())
                    .isEqualTo(chunked.forward(many).output().toArray());
            MoeLayer shared = chunked.withCapacity(Capacity.factor(.5))
                    .withShared(SharedBranch.of(
                            SwiGluExperts.random(new ExpertShape(1, 1, 3), BACKEND, 2), new WeightedMerge()));
            assertThat(shared.apply(many).toArray())
                    .isEqualTo(shared.forward(many).output().toArray());
        }

        @Test
        void aPassDoesNotSeeLaterChangesOfABuffer() {
            Matrix buffer = BACKEND.buffer(3, 4);
            BACKEND.accumulate(0, buffer, 0, tokens);
            MoeLayer merged = layer.withShared(SharedBranch.of(wide, new WeightedMerge()));
            double[] expected = merged.forward(tokens)
                    .backward(tokens)
                    .parameters()
                    .get("shared.0.gate")
                    .toArray();
            MoePass pass = merged.forward(buffer);
            BACKEND.accumulate(0, buffer, 0, BACKEND.buffer(3, 4));
            assertThat(pass.backward(tokens).parameters().get("shared.0.gate").toArray())
                    .isEqualTo(expected);
        }

        @Test
        void noTokensAreLegal() {
            MoeLayer none = MoeLayer.of(new FixedRouter(Routing.of(3, 2, new int[0], new double[0])), experts)
                    .withShared(SharedBranch.of(wide, new WeightedMerge()));
            Matrix empty = BACKEND.matrix(0, 4, new double[0]);
            assertThat(none.apply(empty).rows()).isZero();
            Gradients gradients = none.forward(empty).backward(empty);
            assertThat(gradients.input().rows()).isZero();
            assertThat(gradients.parameters().get("experts.1.up").toArray())
                    .hasSize(20)
                    .containsOnly(0);
            assertThat(gradients.parameters().get("shared.0.up").toArray())
                    .hasSize(28)
                    .containsOnly(0);
        }
    }

    @Nested
    class ParametersAndBackward {
        private final MoeLayer merged = layer.withShared(new SharedBranch(List.of(wide, narrow), new WeightedMerge()));

        @Test
        void namesAreThoseOfTheDesign() {
            assertThat(merged.parameters().names())
                    .contains("experts.0.gate", "experts.2.down", "shared.0.gate", "shared.1.up")
                    .hasSize(15);
            assertThat(merged.forward(tokens).backward(tokens).parameters().names())
                    .containsExactlyInAnyOrderElementsOf(merged.parameters().names());
        }

        @Test
        void otherParametersMakeAnotherLayer() {
            Parameters doubled = merged.parameters()
                    .map((name, value) ->
                            name.endsWith("down") ? BACKEND.linearCombination(2, value, 0, value) : value);
            double[] expected = merged.apply(tokens).toArray();
            double[] actual = merged.withParameters(doubled).apply(tokens).toArray();
            for (int i = 0; i < expected.length; i++) {
                assertThat(actual[i]).isCloseTo(2 * expected[i], within(1e-13));
            }
            assertThatThrownBy(() -> merged.withParameters(Parameters.none()))
                    .hasMessage("parameters: expected a matrix named experts.0.gate but was a set without it");
        }

        @Test
        void wantedGradientsAreAddedIntoBuffers() {
            Gradients all = merged.forward(tokens).backward(tokens);
            Parameters into = Parameters.of("experts.1.up", BACKEND.buffer(5, 4))
                    .and(Parameters.of("shared.0.down", BACKEND.buffer(4, 7)));
            for (int call = 1; call <= 2; call++) {
                Gradients some = merged.forward(tokens).backward(tokens, into.names(), into);
                assertThat(some.input().toArray()).isEqualTo(all.input().toArray());
                for (String name : into.names()) {
                    double[] once = all.parameters().get(name).toArray();
                    for (int i = 0; i < once.length; i++) {
                        assertThat(into.get(name).toArray()[i]).isCloseTo(call * once[i], within(1e-14));
                    }
                }
            }
            MoePass pass = merged.forward(tokens);
            assertThatThrownBy(() -> pass.backward(tokens, Set.of("experts.7.up"), into))
                    .hasMessage("wanted: expected names of the layer's parameters but was experts.7.up; did you mean"
                            + " experts.0.up?");
            assertThatThrownBy(() -> pass.backward(tokens, Set.of("all"), into))
                    .hasMessage("wanted: expected names of the layer's parameters but was all;"
                            + " MoeLayer.parameters() has all of them");
            assertThatThrownBy(() -> pass.backward(tokens, Set.of("experts.0.up"), into))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("into: expected a buffer named experts.0.up but was a set without it");
            Parameters wrong = Parameters.of("experts.1.up", BACKEND.buffer(5, 5));
            assertThatThrownBy(() -> pass.backward(tokens, wrong.names(), wrong))
                    .hasMessage("into.experts.1.up: expected 5 x 4 (shape of experts.1.up) but was 5 x 5");
            double[] before = into.get("shared.0.down").toArray();
            Parameters notABuffer = into.map((name, value) ->
                    name.equals("experts.1.up") ? merged.parameters().get(name) : value);
            assertThatThrownBy(() -> pass.backward(tokens, into.names(), notABuffer))
                    .hasMessage(
                            "into.experts.1.up: expected a matrix made by backend.buffer but was an immutable matrix");
            assertThat(into.get("shared.0.down").toArray())
                    .as("nothing is half-written")
                    .isEqualTo(before);
        }

        @Test
        void outputAndGradientsOutliveThePass() {
            Matrix output;
            Gradients gradients;
            MoePass pass = merged.forward(tokens);
            try (pass) {
                output = pass.output();
                gradients = pass.backward(tokens);
            }
            pass.close();
            assertThat(output.toArray()).hasSize(12);
            assertThat(gradients.input().toArray()).hasSize(12);
            assertThatThrownBy(() -> pass.backward(tokens))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("pass: expected an open pass but was closed");
        }
    }
}
