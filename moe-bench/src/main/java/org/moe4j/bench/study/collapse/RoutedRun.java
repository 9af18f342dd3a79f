package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.rewrite.RoutedExpertSplit;
import org.moe4j.router.InheritedRows;
import org.moe4j.router.TopKRouter;

/**
 * The routed experts of the students of {@link TrainingRun}, split into m parts each: with the rows of the router inherited by the
 * parts, and with rows of their own.
 */
final class RoutedRun {
    static final List<Integer> PARTS = List.of(2, 4);

    private static final long SEED = 83;

    private RoutedRun() {}

    static List<Comparison> run(Backend backend) {
        List<Comparison> compared = new ArrayList<>();
        try (TrainingLayers layers = new TrainingLayers(TrainingCase.SGD, backend);
                MoeLayer whole = layers.parts();
                Matrix tokens = Initializer.normal(1).draw(backend, TrainingRun.BATCH, TrainingLayers.HIDDEN, SEED);
                Matrix output = whole.apply(tokens)) {
            double[] expected = output.toArray();
            for (int parts : PARTS) {
                InheritedRows rows = InheritedRows.of((TopKRouter) whole.router(), parts);
                try (TopKRouter inherited = rows.router();
                        TopKRouter own =
                                TopKRouter.random(inherited.config(), TrainingLayers.HIDDEN, backend, SEED + parts);
                        MoeLayer split = RoutedExpertSplit.of(whole, parts, inherited, rows.weightOfCopy())
                                .layer()) {
                    String about = "routed experts in " + parts + " with rows ";
                    compared.add(compared(about + "inherited", true, split, tokens, expected));
                    compared.add(compared(about + "of their own", false, split.withRouter(own), tokens, expected));
                }
            }
        }
        return compared;
    }

    private static Comparison compared(String about, boolean same, MoeLayer layer, Matrix tokens, double[] expected) {
        try (Matrix output = layer.apply(tokens)) {
            Backend backend = tokens.backend();
            double difference = Distance.difference(expected, output.toArray());
            return new Comparison(
                    "routed",
                    about,
                    same,
                    backend.name(),
                    backend.unitRoundoff() > 0x1p-53,
                    difference,
                    Distance.norm(expected));
        }
    }
}
