package org.moe4j.bench.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.core.reference.ReferenceBackend;

/** Runs with peers of ours: the reference backend under another name. */
final class PeersRunTest {
    private static final LayerSize SMALL = new LayerSize(12, 5, 4, 2);
    private static final Alternation SHORT = new Alternation(0, 0, 2, 2, 0);

    /** A peer that is right but for what is added to one number of its results. */
    private record Stand(String name, float error) implements Peer {
        @Override
        public String library() {
            return "Stand-in 1.0";
        }

        @Override
        public Contender open(SampleLayer layer, int threads) throws PeersRun.Unfit {
            if (error == Float.POSITIVE_INFINITY) {
                throw new PeersRun.Unfit("expected a smaller layer");
            }
            OwnLayer right = OwnLayer.of(layer, ReferenceBackend.instance());
            return new Contender() {
                @Override
                public Calls bind(float[] tokens, int count) {
                    return wrong(right.bind(tokens, count), error);
                }

                @Override
                public void close() {
                    right.close();
                }
            };
        }
    }

    private static Contender.Calls wrong(Contender.Calls right, float error) {
        return new Contender.Calls() {
            @Override
            public void call() throws Exception {
                right.call();
            }

            @Override
            public float[] result() throws Exception {
                float[] values = right.result().clone();
                values[values.length - 1] += error;
                return values;
            }

            @Override
            public void close() {
                right.close();
            }
        };
    }

    private static PeersResult run(Peer... peers) throws Exception {
        return new PeersRun(SMALL, List.of(1, 7), 2).run(List.of(peers), SHORT, () -> {});
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
                        peer,backend,dtype,tokens,ours_min_ms,ours_ms,peer_min_ms,peer_ms,ratio_of_minima,ratio
                        stand,vector,float32,8,2.0,4.0,3.0,6.0,1.5,1.5
                        """);
        assertThat(PeersPage.markdown(result, "peers.svg")).contains("| stand | vector | float32 | 8 | 2.00 | 4.00 |");
        assertThat(FigureFiles.svg(PeersPicture.of(result))).contains("Stand-in 1.0", "vector float32", ">stand<");
    }

    @Test
    void tokensAreAtLeastOne() {
        assertThatThrownBy(() -> new PeersRun(SMALL, List.of(0), 1)).hasMessageContaining("tokens: expected");
        assertThatThrownBy(() -> new PeersRun(SMALL, List.of(), 1)).hasMessageContaining("tokens: expected");
    }
}
