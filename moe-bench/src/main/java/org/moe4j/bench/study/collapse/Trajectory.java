package org.moe4j.bench.study.collapse;

import java.util.List;

/**
 * How far the two forms of a layer came apart while both learned.
 *
 * @param training how they learned
 * @param points by step, at least one
 * @param startLoss mean squared error on the held-out tokens before training
 * @param partsLoss that of the parts at the end
 * @param wideLoss that of the wide form at the end
 */
public record Trajectory(
        TrainingCase training, List<Point> points, double startLoss, double partsLoss, double wideLoss) {
    /**
     * Copies the list.
     *
     * @param training how they learned
     * @param points by step, at least one
     * @param startLoss mean squared error on the held-out tokens before training
     * @param partsLoss that of the parts at the end
     * @param wideLoss that of the wide form at the end
     */
    public Trajectory {
        points = List.copyOf(points);
    }

    /**
     * Both forms on the held-out tokens at one step.
     *
     * @param step from 0, before training
     * @param deviation {@code max |parts − wide| / max |parts|} of the layers' outputs
     */
    public record Point(int step, double deviation) {}

    /**
     * After the last step.
     *
     * @return the deviation
     */
    public double end() {
        return points.get(points.size() - 1).deviation();
    }

    /**
     * Largest over all steps.
     *
     * @return at least {@link #end}
     */
    public double largest() {
        return points.stream().mapToDouble(Point::deviation).max().orElseThrow();
    }
}
