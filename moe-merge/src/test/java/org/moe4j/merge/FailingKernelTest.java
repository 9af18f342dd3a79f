package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.testing.standin.CountingBackend;

/** A merge whose kernels fail leaves no handle open, wherever that happens. */
class FailingKernelTest {
    private final CountingBackend counting = new CountingBackend();

    private Matrix matrix(int rows) {
        double[] values = new double[rows * 2];
        for (int i = 0; i < values.length; i++) {
            values[i] = Math.sin(i + rows);
        }
        return counting.backend().matrix(rows, 2, values);
    }

    /** Lets each kernel call of the work fail in turn, and gives what it made and how many calls it took. */
    private <T> T failEverywhere(Supplier<T> work, int calls) {
        int before = counting.open();
        for (int n = 0; n < calls; n++) {
            counting.failAfter(n);
            assertThatThrownBy(work::get).as("call %d", n).isInstanceOf(CountingBackend.Failure.class);
            assertThat(counting.open())
                    .as("handles after a failure of call %d", n)
                    .isEqualTo(before);
        }
        counting.failAfter(calls);
        T made = work.get();
        counting.heal();
        return made;
    }

    private void check(MergeConvention merge, int shared, int forwardCalls, int backwardCalls, int gradients) {
        Matrix tokens = matrix(3);
        Matrix routed = matrix(3);
        List<Matrix> branches = new ArrayList<>();
        for (int j = 0; j < shared; j++) {
            branches.add(matrix(3));
        }
        Matrix dOutput = matrix(3);
        int before = counting.open();
        MergePass pass = failEverywhere(() -> merge.merge(tokens, routed, branches), forwardCalls);
        assertThat(counting.open()).isEqualTo(before + 1); // the output
        BranchGradients d = failEverywhere(() -> pass.backward(dOutput), backwardCalls);
        assertThat(counting.open()).isEqualTo(before + 1 + gradients);
        pass.output().close();
        d.routed().close();
        d.shared().forEach(Matrix::close);
        d.tokens().ifPresent(Matrix::close);
        d.parameters().close();
        assertThat(counting.open()).isEqualTo(before);
    }

    @ParameterizedTest
    @EnumSource(SharedScore.class)
    void gatedMergesReleaseWhatTheyMade(SharedScore score) {
        // forward: z, and per expert a scaled row and a sum; backward: per expert a dot and a dS, then dz, dX and dG
        check(new GatedMerge(matrix(3), score), 3, 1 + 2 * 3, 2 * 3 + 3, 1 + 3 + 2);
    }

    @Test
    void scaledMergesReleaseWhatTheyMade() {
        check(ScaledMerge.scaled(2, 3), 2, 2, 2, 3);
        check(ScaledMerge.scaled(2, 3), 0, 1, 1, 1);
    }
}
