package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.standin.CountingBackend;

/** What a rewrite makes belongs to its caller, and nothing stays behind when it fails half way. */
class RewriteHandlesTest {
    private static final Partition PARTITION = new Partition(new SwiGlu(), true, 2, List.of(2, 1));

    private final CountingBackend counting = new CountingBackend();

    private Parameters expert(int width, double value) {
        Map<String, Matrix> weights = new LinkedHashMap<>();
        for (BankPart part : BankPart.values()) {
            int rows = part.rows(2, width);
            int columns = part.columns(2, width);
            double[] values = new double[rows * columns];
            Arrays.fill(values, value);
            weights.put(part.key(), counting.backend().matrix(rows, columns, values));
        }
        return Parameters.of(weights);
    }

    /** Lets each call of the backend that makes a matrix fail in turn, then lets the work be done. */
    private void check(int made, Supplier<List<Parameters>> work) {
        int before = counting.open();
        int calls = 0;
        boolean done = false;
        while (!done) {
            counting.failAfter(calls++);
            try {
                List<Parameters> result = work.get();
                done = true;
                assertThat(counting.open()).isEqualTo(before + made);
                result.forEach(Parameters::close);
            } catch (CountingBackend.Failure failure) {
                assertThat(counting.open())
                        .as("handles after a failure of call %d", calls)
                        .isEqualTo(before);
            }
            assertThat(counting.open()).isEqualTo(before);
        }
        assertThat(calls).isGreaterThan(2);
        counting.heal();
    }

    @Test
    void handlesAreThoseOfTheResult() {
        List<Parameters> experts = List.of(expert(2, 1), expert(1, 1));
        Parameters wide = expert(3, 1);
        check(6, () -> List.of(PARTITION.concatenate(experts)));
        check(12, () -> PARTITION.split(wide));
        check(6, () -> List.of(PARTITION.concatenateGradients(experts)));
        check(12, () -> PARTITION.splitGradients(wide));
        check(6, () -> List.of(new DownScale(3).absorb(wide)));
        assertThat(counting.largestCopy()).as("elements read at once").isEqualTo(2); // a down bias
    }

    @Test
    void refusedResultsLeaveNothing() {
        List<Parameters> huge = List.of(expert(2, Double.MAX_VALUE), expert(1, Double.MAX_VALUE));
        int before = counting.open();
        assertThatThrownBy(() -> PARTITION.concatenate(huge)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new DownScale(2).absorb(huge.get(0))).isInstanceOf(IllegalArgumentException.class);
        assertThat(counting.open()).isEqualTo(before);
    }
}
