package org.moe4j.router.analysis.intervention;

import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;

/**
 * How far one output is from another, computed in double.
 *
 * @param tokens T
 * @param beforeRms √(mean y²) of the output before; 0 without tokens
 * @param differenceRms √(mean (y' − y)²); 0 without tokens
 * @param cosine ⟨y, y'⟩/(‖y‖·‖y'‖) of both outputs, each read as one vector; where one is zero 0, where both are 1
 * @param meanTokenCosine mean over the tokens of the same of each row; 1 without tokens
 */
public record OutputChange(int tokens, double beforeRms, double differenceRms, double cosine, double meanTokenCosine) {
    /**
     * Compares two outputs.
     *
     * @param before y (T×D)
     * @param after y' (T×D)
     * @return the change from the one to the other
     * @throws IllegalArgumentException for {@code after} of another shape
     */
    public static OutputChange between(Matrix before, Matrix after) {
        KernelChecks.shape("after", after, before.rows(), before.columns(), "shape of before");
        double[] y = new double[before.columns()];
        double[] z = new double[before.columns()];
        Sums all = new Sums(0, 0, 0, 0);
        double cosines = 0;
        for (int t = 0; t < before.rows(); t++) {
            before.readRows(t, t + 1, y);
            after.readRows(t, t + 1, z);
            Sums row = Sums.of(y, z);
            all = all.plus(row);
            cosines += row.cosine();
        }
        double numbers = (double) before.rows() * before.columns();
        return new OutputChange(
                before.rows(),
                numbers == 0 ? 0 : Math.sqrt(all.before / numbers),
                numbers == 0 ? 0 : Math.sqrt(all.difference / numbers),
                all.cosine(),
                before.rows() == 0 ? 1 : cosines / before.rows());
    }

    /**
     * The size of the change beside that of the output.
     *
     * @return differenceRms / beforeRms; 0 where both are 0, and infinite where only the output before is
     */
    public double relative() {
        return differenceRms == 0 ? 0 : differenceRms / beforeRms;
    }

    /** Σ y², Σ y'², Σ y·y' and Σ (y' − y)². */
    private record Sums(double before, double after, double product, double difference) {
        static Sums of(double[] y, double[] z) {
            double before = 0;
            double after = 0;
            double product = 0;
            double difference = 0;
            for (int d = 0; d < y.length; d++) {
                before += y[d] * y[d];
                after += z[d] * z[d];
                product += y[d] * z[d];
                difference += (z[d] - y[d]) * (z[d] - y[d]);
            }
            return new Sums(before, after, product, difference);
        }

        Sums plus(Sums other) {
            return new Sums(
                    before + other.before, after + other.after, product + other.product, difference + other.difference);
        }

        double cosine() {
            if (before == 0 || after == 0) {
                return before == after ? 1 : 0;
            }
            return product / (Math.sqrt(before) * Math.sqrt(after));
        }
    }
}
