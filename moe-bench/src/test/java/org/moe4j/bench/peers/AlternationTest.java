package org.moe4j.bench.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class AlternationTest {
    private static final long SECOND = 1_000_000_000L;

    private final List<String> events = new ArrayList<>();
    private long now;

    /** Takes a given time by a clock that only calls move. */
    private Contender.Calls taking(String name, long... nanoseconds) {
        return new Contender.Calls() {
            private int count;

            @Override
            public void call() {
                now += nanoseconds[Math.min(count++, nanoseconds.length - 1)];
                events.add(name);
            }

            @Override
            public float[] result() {
                return new float[0];
            }

            @Override
            public void close() {}
        };
    }

    private Alternation.Pair run(Alternation alternation, Contender.Calls ours, Contender.Calls peer) throws Exception {
        return alternation.run(ours, peer, () -> now, count -> events.add("rest " + count));
    }

    @Test
    void eachIsCalledAfterARestAndTheSecondCallOfATurnCounts() throws Exception {
        Alternation.Pair pair =
                run(new Alternation(0, 0, 2, 9, 5), taking("a", 100, 40, 10, 40, 11), taking("b", 100, 70, 20, 70, 24));
        assertThat(events)
                .containsExactly(
                        "a", "b", "rest 5", "a", "a", "rest 5", "b", "b", "rest 5", "a", "a", "rest 5", "b", "b");
        assertThat(pair.ours().nanoseconds()).containsExactly(10L, 11L);
        assertThat(pair.peer().nanoseconds()).containsExactly(20L, 24L);
    }

    @Test
    void warmUpTakesAtLeastItsSecondsForEach() throws Exception {
        run(new Alternation(2, 0, 1, 1, 0), taking("a", SECOND), taking("b", SECOND / 2));
        assertThat(events.subList(0, events.indexOf("rest 0"))).containsExactly("a", "a", "b", "b", "b", "b");
    }

    @Test
    void turnsEndWithTheSecondsOrTheMostButNotBeforeTheLeast() throws Exception {
        Contender.Calls second = taking("a", SECOND);
        Contender.Calls quick = taking("b", 1);
        assertThat(run(new Alternation(0, 5, 1, 99, 0), second, quick).ours().nanoseconds())
                .hasSize(3); // 2 seconds a turn
        assertThat(run(new Alternation(0, 5, 1, 2, 0), second, quick).ours().nanoseconds())
                .hasSize(2);
        assertThat(run(new Alternation(0, 5, 4, 99, 0), second, quick).ours().nanoseconds())
                .hasSize(4);
    }

    @Test
    void minimumAndMedianAreInMilliseconds() {
        Times odd = new Times(List.of(9_000_000L, 2_000_000L, 3_000_000L));
        assertThat(odd.minimum()).isEqualTo(2);
        assertThat(odd.median()).isEqualTo(3);
        assertThat(new Times(List.of(4_000_000L, 1_000_000L)).median()).isEqualTo(2.5);
        assertThat(new Times(List.of(7_000_000L)).median()).isEqualTo(7);
        assertThatThrownBy(() -> new Times(List.of())).hasMessageContaining("expected at least one duration");
    }
}
