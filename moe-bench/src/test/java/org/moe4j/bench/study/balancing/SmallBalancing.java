package org.moe4j.bench.study.balancing;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.bench.study.balancing.BalancingResult.Point;
import org.moe4j.bench.study.balancing.BalancingResult.Run;

/** A result made up of round numbers, for tests of what is written about a result. */
public final class SmallBalancing {
    private SmallBalancing() {}

    /** Two seeds, three measurements; the balanced students end with the given load and loss, the teacher's loss being 0.25. */
    public static BalancingResult ending(double maxOverMean, double variation, double loss) {
        List<Run> runs = new ArrayList<>();
        for (BalancingMethod method : BalancingMethod.values()) {
            for (int seed = 1; seed <= 2; seed++) {
                double off = seed == 1 ? 0 : 0.01;
                Point end = method == BalancingMethod.NONE
                        ? new Point(60, 3 + off, 1.2, 0.5)
                        : new Point(60, maxOverMean + off, variation, loss);
                runs.add(new Run(
                        method,
                        seed,
                        0.25,
                        List.of(new Point(0, 3.5, 1.5, 2), new Point(30, 2, 1, method.balances() ? 0.26 : 1), end)));
            }
        }
        return new BalancingResult(new BalancingSettings(2, 60, 30, 100), "FastBackend[float64]", runs);
    }
}
