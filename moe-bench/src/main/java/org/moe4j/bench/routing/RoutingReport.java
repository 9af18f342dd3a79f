package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The parts of a report, from what was counted. */
final class RoutingReport {
    private static final int MOST_NAMED = 5;

    private RoutingReport() {}

    static Report of(Measures measures) {
        List<Part> parts = new ArrayList<>();
        parts.add(TracePart.of(measures));
        parts.add(LoadPart.of(measures));
        parts.add(BatchPart.of(measures));
        if (!measures.settings().devices().isEmpty()) {
            parts.add(DevicePart.of(measures));
        }
        parts.add(DistancePart.of(measures));
        LossPart.of(measures).ifPresent(parts::add);
        if (!measures.settings().caches().isEmpty()) {
            parts.add(CachePart.of(measures));
        }
        TokenPart.of(measures).ifPresent(parts::add);
        return new Report(title(measures), synthetic(measures), parts);
    }

    private static String title(Measures measures) {
        List<Measures.OfPassage> passages = measures.passages();
        String names = passages.stream()
                .limit(MOST_NAMED)
                .map(of -> of.passage().name())
                .collect(Collectors.joining(", "));
        int left = passages.size() - MOST_NAMED;
        return "Routing of " + names + (left > 0 ? " and " + left + " more" : "");
    }

    private static Optional<String> synthetic(Measures measures) {
        String made = measures.passages().stream()
                .filter(of -> of.passage().synthetic().isPresent())
                .map(of -> of.passage().name() + " (" + of.passage().synthetic().orElse("") + ")")
                .collect(Collectors.joining(", "));
        return made.isEmpty()
                ? Optional.empty()
                : Optional.of("SYNTHETIC: made by a generator and not by a model: " + made);
    }
}
