package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass.BankGradients;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** Whatever closes several matrices does so without memory of the Java heap, which may be full. */
class ClosingTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static Iterator<Matrix> iterator =
            Collections.emptyIterator(); // a field, or the compiler might leave it out

    private static Matrix matrix() {
        return ReferenceBackend.instance().buffer(2, 2);
    }

    private static List<Matrix> two() {
        return List.of(matrix(), matrix());
    }

    static Stream<Named<Supplier<AutoCloseable>>> several() {
        return Stream.of(
                Named.of("weights of a bank", () -> BankWeights.swiGlu(two(), two(), two())),
                Named.of(
                        "gradients of a bank",
                        () -> new BankGradients(matrix(), Map.of(BankPart.UP, two(), BankPart.DOWN, two()))),
                Named.of("one parameter", () -> Parameters.of("a", matrix())),
                Named.of("parameters", () -> Parameters.of(Map.of("a", matrix(), "b", matrix()))),
                Named.of(
                        "gradients of a merge",
                        () -> new MergePass.BranchGradients(
                                matrix(), two(), Optional.of(matrix()), Parameters.of("a", matrix()))));
    }

    private static long bytes(AutoCloseable closed) throws Exception {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        closed.close();
        return THREADS.getCurrentThreadAllocatedBytes() - before;
    }

    private static long afterFirstCalls(Supplier<AutoCloseable> made) throws Exception {
        long last = 0;
        for (int i = 0; i < 20; i++) { // the first ones load classes
            last = bytes(made.get());
        }
        return last;
    }

    @ParameterizedTest
    @MethodSource("several")
    void closingTakesNoMemory(Supplier<AutoCloseable> made) throws Exception {
        assertThat(afterFirstCalls(made)).isZero();
    }

    /** The twin: an iterator is seen. */
    @Test
    void anIteratorIsSeen() throws Exception {
        assertThat(afterFirstCalls(() -> {
                    List<Matrix> matrices = two();
                    return () -> {
                        iterator = matrices.iterator();
                        while (iterator.hasNext()) {
                            iterator.next().close();
                        }
                    };
                }))
                .isPositive();
    }
}
