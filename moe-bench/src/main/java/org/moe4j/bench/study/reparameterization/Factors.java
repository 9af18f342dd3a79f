package org.moe4j.bench.study.reparameterization;

import java.util.Arrays;
import org.moe4j.merge.rewrite.Rescaling;

/**
 * What multiplies the settings and the state of one parameter's optimizer.
 *
 * @param rate of the step size
 * @param epsilon of ε
 * @param decay of the weight decay
 * @param mean of moving means of gradients
 * @param square of moving means of squared gradients
 */
record Factors(double rate, double epsilon, double decay, double mean, double square) {
    static Factors of(Descent descent, Treatment treatment, Rescaling rescaling) {
        if (treatment == Treatment.UNCHANGED) {
            return new Factors(1, 1, 1, 1, 1);
        }
        boolean stateKept = treatment == Treatment.HALFWAY_STATE_KEPT;
        return new Factors(
                descent.rate(rescaling),
                treatment == Treatment.WITHOUT_EPSILON ? 1 : rescaling.adamEpsilon(),
                treatment == Treatment.WITHOUT_DECAY ? 1 : descent.decay(rescaling),
                stateKept ? 1 : rescaling.gradient(),
                stateKept ? 1 : rescaling.secondMoment());
    }

    double[] means(double[] values) {
        return Arrays.stream(values).map(value -> mean * value).toArray();
    }

    double[] squares(double[] values) {
        return Arrays.stream(values).map(value -> square * value).toArray();
    }
}
