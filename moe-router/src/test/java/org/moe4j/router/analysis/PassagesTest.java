package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class PassagesTest {
    private static List<List<Integer>> read(RoutingSource source, int blockSize) {
        List<List<Integer>> tokens = new ArrayList<>();
        for (long from = 0; from < source.tokens(); from += blockSize) {
            int count = (int) Math.min(blockSize, source.tokens() - from);
            ChosenExperts block = source.block(from, count);
            for (int t = 0; t < count; t++) {
                tokens.add(Arrays.stream(block.expertsOf(t)).boxed().toList());
            }
        }
        return tokens;
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void interleavedPassagesTakeTurns(long seed) {
        Random random = new Random(seed);
        int experts = 1 + random.nextInt(12);
        List<DrawnRouting> drawn = new ArrayList<>();
        for (int p = 0; p <= random.nextInt(4); p++) {
            int tokens = seed == 4 ? 0 : 1 + random.nextInt(40);
            drawn.add(DrawnRouting.draw(experts, tokens, 1 + random.nextInt(experts), p % 2 == 1, random));
        }
        int shortest = drawn.stream().mapToInt(d -> d.tokens().size()).min().orElseThrow();
        List<List<Integer>> turns = new ArrayList<>();
        for (int t = 0; t < shortest; t++) {
            for (DrawnRouting passage : drawn) {
                turns.add(passage.tokens().get(t));
            }
        }
        RoutingSource interleaved =
                Passages.interleaved(drawn.stream().map(DrawnRouting::source).toList());

        assertThat(interleaved.tokens()).isEqualTo(turns.size());
        for (int blockSize : new int[] {1, 2, 3, 7, 1000}) {
            assertThat(read(interleaved, blockSize)).isEqualTo(turns);
        }
    }

    @Test
    void partsOfOnePassageCanBeInterleavedThoughTheyReadIntoOneArray() {
        DrawnRouting drawn = DrawnRouting.draw(10, 11, 3, false, new Random(5));
        RoutingSource source = drawn.source();
        int[] shared = new int[33];
        RoutingSource reusing = new RoutingSource() {
            @Override
            public int experts() {
                return 10;
            }

            @Override
            public int topK() {
                return 3;
            }

            @Override
            public long tokens() {
                return 11;
            }

            @Override
            public ChosenExperts block(long from, int count) {
                ChosenExperts block = source.block(from, count);
                Arrays.fill(shared, -1);
                for (int slot = 0; slot < block.slots(); slot++) {
                    shared[slot] = block.expert(slot);
                }
                return ChosenExperts.of(10, 3, count, shared);
            }
        };
        List<RoutingSource> parts = Passages.parts(reusing, 3);
        List<List<Integer>> turns = new ArrayList<>();
        for (int t = 0; t < 3; t++) {
            for (int p = 0; p < 3; p++) {
                turns.add(drawn.tokens().get(3 * p + t));
            }
        }

        assertThat(parts).extracting(RoutingSource::tokens).containsExactly(3L, 3L, 3L);
        assertThat(read(Passages.interleaved(parts), 4)).isEqualTo(turns);
        assertThat(RouterSaturation.of(parts.get(0), parts.get(1)).saturation())
                .isEqualTo(RouterSaturation.of(
                                drawn.part(0, 3).source(), drawn.part(3, 6).source())
                        .saturation());
    }

    @Test
    void partsAreConsecutiveAndChecked() {
        DrawnRouting drawn = DrawnRouting.draw(4, 10, 2, false, new Random(6));
        RoutingSource part = Passages.part(drawn.source(), 2, 5);

        assertThat(read(part, 2)).isEqualTo(drawn.tokens().subList(2, 7));
        assertThat(part.experts()).isEqualTo(4);
        assertThat(part.topK()).isEqualTo(2);
        assertThatThrownBy(() -> part.block(4, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> Passages.part(drawn.source(), 8, 3)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> Passages.parts(drawn.source(), 0))
                .hasMessage("parts: expected 1..1048576 (views in a list) but was 0");
        assertThatThrownBy(() -> Passages.interleaved(List.of())).hasMessageContaining("passages");
        assertThatThrownBy(() -> Passages.interleaved(List.of(
                        drawn.source(),
                        DrawnRouting.draw(5, 3, 1, false, new Random(1)).source())))
                .hasMessageContaining("passages: expected 4 experts");
    }
}
