package org.moe4j.bench.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.timing.Alternation;
import org.moe4j.bench.timing.Times;
import org.moe4j.core.reference.ReferenceBackend;

/** Runs with peers of ours: the reference backend under another name. */
final class PeersRunTest {
    private static final LayerSize SMALL = new LayerSize(12, 5, 4, 2);
    private static final List<OwnBackend> ALL = List.of(OwnBackend.values());
    private static final Alternation SHORT = new Alternation(0, 0, 2, 2, 0);

    /** A peer that is right but for what is added to the last number of its output, or of one of its gradients. */
    private record Stand(String name, float error, Optional<Contender.Gradient> part) implements Peer {
        Stand(String name, float error) {
            this(name, error, Optional.empty());
        }

        @Override
        public String library() {
            return name.equals("small") ? "Small 1.0" : "Stand-in 1.0";
        }

        @Override
        public Contender open(SampleLayer layer, Pass pass, int threads) throws PeersRun.Unfit {
            if (error == Float.POSITIVE_INFINITY) {
                throw new PeersRun.Unfit("expected a smaller layer");
            }
            OwnLayer right = OwnLayer.of(layer, pass, ReferenceBackend.instance());
            return new Contender() {
                @Override
                public Calls bind(float[] tokens, int count) {
                    return wrong(right.bind(tokens, count), error, part);
                }

                @Override
                public void close() {
                    right.close();
                }
            };
        }
    }

    private static Contender.Calls wrong(Contender.Calls right, float error, Optional<Contender.Gradient> part) {
        return new Contender.Calls() {
            @Override
            public void call() throws Exception {
                right.call();
            }

            @Override
            public float[] result() throws Exception {
                float[] values = right.result().clone();
                values[values.length - 1] += part.isEmpty() ? error : 0;
                return values;
            }

            @Override
            public Map<Contender.Gradient, float[]> gradients(int expert) throws Exception {
                Map<Contender.Gradient, float[]> gradients = new EnumMap<>(Contender.Gradient.class);
                for (Map.Entry<Contender.Gradient, float[]> each :
                        right.gradients(expert).entrySet()) {
                    float[] values = each.getValue().clone();
                    values[values.length - 1] += part.equals(Optional.of(each.getKey())) ? error : 0;
                    gradients.put(each.getKey(), values);
                }
                return gradients;
            }

            @Override
            public void close() {
                right.close();
            }
        };
    }

    private static PeersResult run(Peer... peers) throws Exception {
        return new PeersRun(SMALL, Pass.FORWARD, ALL, List.of(1, 7), 2).run(List.of(peers), SHORT, () -> {});
    }

    @Test
    void everyBackendIsMeasuredBesideEveryPeer() throws Exception {
        PeersResult result = run(new Stand("stand", 0));
        assertThat(result.rows())
                .extracting(row -> row.peer() + " " + row.backend() + " " + row.dtype() + " " + row.tokens())
                .containsExactly(
                        "stand vector float32 1",
                        "stand vector float32 7",
                        "stand vector bfloat16 1",
                        "stand vector bfloat16 7",
                        "stand nd4j float32 1",
                        "stand nd4j float32 7");
        assertThat(result.rows()).allSatisfy(row -> {
            assertThat(row.ours().nanoseconds()).hasSize(2);
            assertThat(row.ratio()).isEqualTo(row.theirs().median() / row.ours().median());
        });
        assertThat(result.notes()).isEmpty();
    }

    @Test
    void aWrongResultIsNotMeasured() {
        assertThatThrownBy(() -> run(new Stand("stand", 1e-4f)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("stand: expected the result of ours");
    }

    private static PeersResult gradients(Peer peer) throws Exception {
        return new PeersRun(SMALL, Pass.FORWARD_AND_BACKWARD, ALL, List.of(1, 7), 2)
                .run(List.of(peer), SHORT, () -> {});
    }

    @Test
    void gradientsAreMeasuredWhenTheyAgree() throws Exception {
        PeersResult result = gradients(new Stand("stand", 0));
        assertThat(result.rows()).hasSize(6);
        assertThat(result.pass().text()).isEqualTo("forward+backward");
        assertThat(PeersPage.csv(result).csv()).contains("stand,vector,bfloat16,forward+backward,7,");
    }

    @ParameterizedTest
    @EnumSource
    void aWrongGradientIsNotMeasured(Contender.Gradient part) {
        assertThatThrownBy(() -> gradients(new Stand("stand", 1e-3f, Optional.of(part))))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageStartingWith("stand, gradient of " + part.name().toLowerCase(Locale.ROOT) + ": expected");
    }

    @Test
    void backendsHaveTheNamesOfTheOtherBenchmarks() {
        assertThat(OwnBackend.named("vector-bf16")).isEqualTo(OwnBackend.VECTOR_BFLOAT16);
        assertThat(OwnBackend.named("nd4j").storage()).isEqualTo("float32");
        assertThatThrownBy(() -> OwnBackend.named("cuda")).hasMessageStartingWith("backend: expected vector,");
        assertThatThrownBy(() -> new PeersRun(SMALL, Pass.FORWARD, List.of(), List.of(1), 1))
                .hasMessageStartingWith("backends: expected");
    }

    @Test
    void aPeerThatCannotHoldTheLayerIsLeftOut() throws Exception {
        PeersResult result = run(new Stand("small", Float.POSITIVE_INFINITY), new Stand("stand", 0));
        assertThat(result.rows()).extracting(PeersResult.Row::peer).containsOnly("stand");
        assertThat(result.notes()).containsExactly("small: expected a smaller layer");
        assertThat(PeersPage.legend(result)).contains("Left out: small: expected a smaller layer");
        assertThat(result.libraries()).containsExactly("Stand-in 1.0");
    }

    @Test
    void tableAndPictureShowTheRows() throws Exception {
        PeersResult result = new PeersResult(
                SMALL,
                Pass.FORWARD,
                2,
                List.of("Stand-in 1.0"),
                List.of(new PeersResult.Row(
                        8,
                        "stand",
                        "vector",
                        "float32",
                        new Times(List.of(2_000_000L, 4_000_000L, 5_000_000L)),
                        new Times(List.of(3_000_000L, 6_000_000L, 9_000_000L)))),
                List.of());
        assertThat(PeersPage.csv(result).csv()).isEqualTo("""
                        peer,backend,dtype,pass,tokens,ours_min_ms,ours_ms,peer_min_ms,peer_ms,ratio_of_minima,ratio
                        stand,vector,float32,forward,8,2.0,4.0,3.0,6.0,1.5,1.5
                        """);
        assertThat(PeersPage.markdown(result, "peers.svg"))
                .contains("| stand | vector | float32 | forward | 8 | 2.00 | 4.00 |");
        assertThat(FigureFiles.svg(PeersPicture.of(result))).contains("Stand-in 1.0", "vector float32", ">stand<");
    }

    @Test
    void tokensAreAtLeastOne() {
        assertThatThrownBy(() -> new PeersRun(SMALL, Pass.FORWARD, ALL, List.of(0), 1))
                .hasMessageContaining("tokens: expected");
        assertThatThrownBy(() -> new PeersRun(SMALL, Pass.FORWARD, ALL, List.of(), 1))
                .hasMessageContaining("tokens: expected");
    }
}
