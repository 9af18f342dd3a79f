package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.merge.rewrite.DrawnParts.BACKEND;

import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.standin.ForeignMatrix;

class PartitionRefusalTest {
    private static final Cases CASES = new Cases(1);
    private static final Partition PLAIN = new Partition(new Relu(), false, 2, List.of(3, 1));
    private static final Partition BIASED = new Partition(new Relu(), true, 1, List.of(1, 1));

    private static Parameters plain(int hidden, int width) {
        return DrawnParts.expert(new Relu(), false, hidden, width, CASES);
    }

    private static Parameters biased(double downBias) {
        return Parameters.of("up", row(1))
                .and(Parameters.of("down", row(1)))
                .and(Parameters.of("upBias", row(1)))
                .and(Parameters.of("downBias", row(downBias)));
    }

    private static Matrix row(double... values) {
        return BACKEND.matrix(1, values.length, values);
    }

    private static void assertRefused(ThrowingCallable call, String message) {
        assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }

    @Test
    void sizesThatArePartitionsOfNothing() {
        assertRefused(
                () -> new Partition(new Relu(), false, 0, List.of(1)), "hiddenSize: expected at least 1 but was 0");
        assertRefused(
                () -> new Partition(new Relu(), false, 1, List.of()),
                "widths: expected at least 1 part but was an empty list");
        assertRefused(
                () -> new Partition(new Relu(), false, 1, List.of(1, 0)), "widths[1]: expected at least 1 but was 0");
        assertRefused(
                () -> new Partition(new Relu(), false, 1, List.of(1 << 30, 1 << 30)),
                "widths: expected at most 2^31 - 1 intermediate units in all but was 2147483648");
    }

    @Test
    void widthsThatDoNotAddUp() {
        ExpertShape wide = new ExpertShape(1, 2, 24);
        assertRefused(() -> Partition.of(wide, 10, 8), "widths: expected 24 in all (intermediate size) but was 18");
        assertRefused(() -> Partition.of(wide), "widths: expected 24 in all (intermediate size) but was 0");
        assertRefused(() -> Partition.of(wide, 25, -1), "widths[1]: expected at least 1 but was -1");
        assertRefused(() -> Partition.even(wide, 5), "parts: expected a divisor of 24 (intermediate size) but was 5");
        assertRefused(() -> Partition.even(wide, 0), "parts: expected a divisor of 24 (intermediate size) but was 0");
    }

    @Test
    void expertsThatAreNoParts() {
        assertRefused(
                () -> Partition.of(new Relu(), List.of()), "experts: expected at least 1 expert but was an empty list");
        assertRefused(
                () -> Partition.of(new SwiGlu(), List.of(plain(2, 3))),
                "experts[0]: expected a matrix named gate but was a set without it");
        assertRefused(
                () -> Partition.of(new Relu(), List.of(plain(2, 3), biased(0))),
                "experts[1]: expected only matrices named [up, down] but was upBias");
        assertRefused(
                () -> Partition.of(new Relu(), List.of(biased(0), plain(1, 1))),
                "experts[1]: expected a matrix named upBias but was a set without it");
        assertRefused(
                () -> Partition.of(new Relu(), List.of(plain(2, 3), plain(4, 3))),
                "experts[1].up: expected 3 x 2 (sizes of the partition) but was 3 x 4");
    }

    @Test
    void setsThatDoNotFitThePartition() {
        assertRefused(
                () -> PLAIN.concatenate(List.of(plain(2, 3))),
                "experts: expected 2 sets of matrices (parts) but was 1");
        assertRefused(
                () -> PLAIN.concatenateGradients(List.of(plain(2, 3), plain(2, 2))),
                "gradients[1].up: expected 1 x 2 (sizes of the partition) but was 2 x 2");
        assertRefused(() -> PLAIN.split(plain(2, 5)), "wide.up: expected 4 x 2 (sizes of the partition) but was 5 x 2");
        assertRefused(
                () -> PLAIN.splitGradients(biased(0)), "wide: expected only matrices named [up, down] but was upBias");
        Parameters foreign = Parameters.of("up", new ForeignMatrix(1, 2)).and(Parameters.of("down", row(1, 1)));
        assertRefused(
                () -> PLAIN.concatenate(List.of(plain(2, 3), foreign)),
                "experts[1].up: expected a matrix of ReferenceBackend but was one of Foreign; "
                        + "convert it with backend.copyOf(experts[1].up)");
        Parameters mixed = plain(2, 4).map((name, value) -> name.equals("down") ? new ForeignMatrix(2, 4) : value);
        assertRefused(
                () -> PLAIN.split(mixed),
                "wide.down: expected a matrix of ReferenceBackend but was one of Foreign; "
                        + "convert it with backend.copyOf(wide.down)");
    }

    @Test
    void downBiasesThatHaveNoSum() {
        assertRefused(
                () -> BIASED.concatenate(List.of(biased(Double.MAX_VALUE), biased(Double.MAX_VALUE))),
                "downBias: expected a finite sum over the experts but was Infinity in column 0");
    }

    @Test
    void gradientsOfDownBiasesThatDiffer() {
        assertRefused(
                () -> BIASED.concatenateGradients(List.of(biased(.5), biased(Math.nextUp(.5)))),
                "gradients[1].downBias: expected 0.5 in column 0 (as in gradients[0]) but was 0.5000000000000001; "
                        + "all parts of one expert have the same gradient of their down biases, that of their sum");
        assertRefused(
                () -> BIASED.concatenateGradients(List.of(biased(1), biased(1)), 2),
                "downBiasOf: expected 0..1 (parts) but was 2");
    }
}
