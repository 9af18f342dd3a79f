package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.moe4j.router.analysis.cache.SimulatedCache;

/** Simulated caches of experts. */
final class CachePart {
    private CachePart() {}

    static Part of(Measures measures) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("slots", "experts kept"),
                Column.plain("requests", "requests"),
                new Column("lru_hit_rate", "LRU hits", Column.Form.PERCENT),
                new Column("lfu_hit_rate", "LFU hits", Column.Form.PERCENT),
                new Column("best_hit_rate", "at best", Column.Form.PERCENT),
                Column.plain("compulsory_misses", "first requests"));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            for (int i = 0; i < measures.settings().caches().size(); i++) {
                rows.add(row(of, i, measures.settings().caches().get(i)));
            }
        }
        return new Part(
                "caches",
                "Caches",
                "A simulation: each layer has a memory of its own with room for some experts, requests come token by token, and an"
                        + " expert that is missing is loaded. Least recently used, least frequently used, and the best there is, which"
                        + " knows the future. Hits of all layers over their requests.",
                List.of(new Sheet("caches", "Simulated caches of experts, one for each layer", 1, columns, rows)),
                List.of());
    }

    private static List<Cell> row(Measures.OfPassage of, int index, int slots) {
        List<SimulatedCache> lru = each(of, index, LayerMeasures.Caches::lru);
        return List.of(
                Cell.of(of.passage().name()),
                Cell.of((long) slots),
                Cell.of(lru.stream().mapToLong(SimulatedCache::requests).sum()),
                Cell.of(rate(lru)),
                Cell.of(rate(each(of, index, LayerMeasures.Caches::lfu))),
                Cell.of(rate(each(of, index, LayerMeasures.Caches::best))),
                Cell.of(lru.stream().mapToLong(SimulatedCache::compulsoryMisses).sum()));
    }

    private static List<SimulatedCache> each(
            Measures.OfPassage of, int index, Function<LayerMeasures.Caches, SimulatedCache> policy) {
        return of.layers().stream()
                .map(layer -> policy.apply(layer.caches().get(index)))
                .toList();
    }

    private static double rate(List<SimulatedCache> caches) {
        long requests = caches.stream().mapToLong(SimulatedCache::requests).sum();
        return requests == 0
                ? 0
                : (double) caches.stream().mapToLong(SimulatedCache::hits).sum() / requests;
    }
}
