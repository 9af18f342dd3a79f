package org.moe4j.bench.study.reparameterization;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Line;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;

/** A result made up of round numbers, for tests of what is written about a result. */
final class SmallReparameterization {
    private SmallReparameterization() {}

    /**
     * Two conventions, of which the first has powers of two; three measurements.
     *
     * @param exact deviation of those that follow, where the factors are powers of two
     * @param follows deviation of those that follow, elsewhere
     * @param parts deviation of the others
     */
    static ReparameterizationResult of(double exact, double follows, double parts) {
        List<Run> runs = new ArrayList<>();
        for (Descent descent : Descent.values()) {
            List<Line> lines = new ArrayList<>();
            for (Treatment treatment : descent.treatments()) {
                double end = treatment.follows() ? exact : parts;
                lines.add(new Line(treatment, "first", 4, 0.5, points(end)));
                lines.add(new Line(treatment, "second", 4, 3, points(treatment.follows() ? follows : parts)));
            }
            runs.add(new Run(descent, 9, 1 + runs.size(), 1e-5 * (1 + runs.size()), 0.5, lines));
        }
        return new ReparameterizationResult(new ReparameterizationSettings(40, 20, 32, 100), "Fast[float64]", runs);
    }

    /** The function deviates most before the end, the parameters by half. */
    private static List<Point> points(double most) {
        return List.of(new Point(0, 0, 0), new Point(20, most, most / 2), new Point(40, most / 4, most / 8));
    }
}
