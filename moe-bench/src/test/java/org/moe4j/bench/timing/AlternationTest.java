package org.moe4j.bench.timing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class AlternationTest {
    private static final long SECOND = 1_000_000_000L;

    private final List<String> events = new ArrayList<>();
    private long now;
    private int turns;

    /** Takes a given time by a clock that only calls move. */
    private Alternation.Call taking(String name, long... nanoseconds) {
        AtomicInteger count = new AtomicInteger();
        return () -> {
            now += nanoseconds[Math.min(count.getAndIncrement(), nanoseconds.length - 1)];
            events.add(name);
        };
    }

    private List<Times> run(Alternation alternation, Alternation.Call... calls) throws Exception {
        return alternation.run(List.of(calls), () -> turns++, () -> now, count -> events.add("rest " + count));
    }

    @Test
    void eachIsCalledAfterARestAndTheSecondCallOfATurnCounts() throws Exception {
        List<Times> times =
                run(new Alternation(0, 0, 2, 9, 5), taking("a", 100, 40, 10, 40, 11), taking("b", 100, 70, 20, 70, 24));
        assertThat(events)
                .containsExactly(
                        "a", "b", "rest 5", "a", "a", "rest 5", "b", "b", "rest 5", "a", "a", "rest 5", "b", "b");
        assertThat(times.get(0).nanoseconds()).containsExactly(10L, 11L);
        assertThat(times.get(1).nanoseconds()).containsExactly(20L, 24L);
    }

    @Test
    void warmUpTakesAtLeastItsSecondsForEach() throws Exception {
        run(new Alternation(2, 0, 1, 1, 0), taking("a", SECOND), taking("b", SECOND / 2));
        assertThat(events.subList(0, events.indexOf("rest 0"))).containsExactly("a", "a", "b", "b", "b", "b");
    }

    @Test
    void turnsEndWithTheSecondsOrTheMostButNotBeforeTheLeast() throws Exception {
        Alternation.Call second = taking("a", SECOND);
        Alternation.Call quick = taking("b", 1);
        assertThat(run(new Alternation(0, 5, 1, 99, 0), second, quick).get(0).nanoseconds())
                .hasSize(3); // 2 seconds a turn
        assertThat(run(new Alternation(0, 5, 1, 2, 0), second, quick).get(0).nanoseconds())
                .hasSize(2);
        assertThat(run(new Alternation(0, 5, 4, 99, 0), second, quick).get(0).nanoseconds())
                .hasSize(4);
    }

    @Test
    void anyNumberOfCallsTakesTurns() throws Exception {
        List<Times> times = run(new Alternation(0, 0, 2, 9, 0), taking("a", 1), taking("b", 2), taking("c", 3));
        assertThat(events.subList(3, 12)).containsExactly("rest 0", "a", "a", "rest 0", "b", "b", "rest 0", "c", "c");
        assertThat(turns).isEqualTo(2);
        assertThat(times).extracting(time -> time.nanoseconds().get(0)).containsExactly(1L, 2L, 3L);
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
