package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.standin.FaultyBackend;
import org.moe4j.core.testing.standin.FaultyBackend.Fault;

/** The contract of backends is checked: it passes a right backend, and finds each fault that is just above a limit. */
class ContractTwinsTest {
    /** The contract of a backend, as its own test would run it. */
    private static final class Subject extends BackendContract {
        private final Backend subject;

        Subject(Backend subject) {
            this.subject = subject;
        }

        @Override
        protected Backend backend() {
            return subject;
        }

        @Override
        protected Backend foreign() {
            return Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST);
        }
    }

    /** What the methods of the contract are called with: none, a seed, an activation, an activation and a seed or biases. */
    private static List<Object[]> arguments(Method test) {
        List<Class<?>> types = List.of(test.getParameterTypes());
        List<Object[]> arguments = new ArrayList<>();
        if (types.isEmpty()) {
            arguments.add(new Object[0]);
        } else if (types.equals(List.of(long.class))) {
            arguments.add(new Object[] {1L});
            arguments.add(new Object[] {2L});
        } else if (types.get(0) == Activation.class && types.size() <= 2) {
            for (Activation activation : PlainActivations.ALL) {
                arguments.add(
                        types.size() == 1
                                ? new Object[] {activation}
                                : new Object[] {activation, types.get(1) == long.class ? (Object) 1L : (Object) true});
            }
        }
        return arguments;
    }

    /** The tests of the contract, but those that are about threads. */
    private static List<Method> tests() {
        List<Method> tests = new ArrayList<>();
        for (Class<?> level = BackendContract.class; level != Object.class; level = level.getSuperclass()) {
            for (Method method : level.getDeclaredMethods()) {
                boolean test =
                        method.isAnnotationPresent(Test.class) || method.isAnnotationPresent(ParameterizedTest.class);
                if (test && !List.of(method.getExceptionTypes()).contains(Exception.class)) {
                    method.setAccessible(true);
                    tests.add(method);
                }
            }
        }
        return tests;
    }

    private static boolean fails(Method test, Fault fault, double size) {
        for (Object[] call : arguments(test)) {
            try {
                test.invoke(new Subject(new FaultyBackend(fault, size).backend()), call);
            } catch (InvocationTargetException failure) {
                assertThat(failure.getCause()).isInstanceOf(AssertionError.class);
                return true;
            } catch (IllegalAccessException impossible) {
                throw new AssertionError(impossible);
            }
        }
        return false;
    }

    /** Names of the tests of the contract that fail. */
    private static Set<String> failing(Fault fault, double size) {
        Set<String> failing = new TreeSet<>();
        for (Method test : tests()) {
            if (fails(test, fault, size)) {
                failing.add(test.getName());
            }
        }
        return failing;
    }

    /** The one that has to find a fault finds it. */
    private static void assertFound(String by, Fault fault, double size) {
        Method test = tests().stream()
                .filter(method -> method.getName().equals(by))
                .findFirst()
                .orElseThrow();
        assertThat(fails(test, fault, size))
                .as("%s finds %s of %s", by, fault, size)
                .isTrue();
    }

    @Test
    void aRightBackendPasses() {
        assertThat(tests()).hasSizeGreaterThan(30);
        assertThat(failing(Fault.NONE, 0)).isEmpty();
    }

    @Test
    void productsJustBelowTheLimitPassAndJustAboveFail() {
        String product = "groupedProductsAreSumsOfProducts";
        String overRows = "groupedMatmulTransASumsOverTheRowsOfEachGroup";
        assertThat(failing(Fault.PRODUCT, 0.99)).isEmpty();
        assertThat(failing(Fault.PRODUCT_OVER_ROWS, 0.99)).doesNotContain(overRows);
        for (double size : new double[] {1.01, -1.01, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertFound(product, Fault.PRODUCT, size);
            assertFound(overRows, Fault.PRODUCT_OVER_ROWS, size);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"ROW_LOST", "ROWS_SWAPPED", "ADDEND_LOST", "UPDATE_LOST", "NOT_A_NUMBER"})
    void whatIsLostOrSwappedFails(Fault fault) {
        String kernel =
                switch (fault) {
                    case ADDEND_LOST -> "sumRowsAddsScaledRowsAndSkipsMinusOne";
                    case UPDATE_LOST -> "accumulateKeepsAndAdds";
                    case NOT_A_NUMBER -> "activationsAndTheirAdjointsFollowTheirFormulas";
                    default -> "gatherRowsCopiesRows";
                };
        assertFound(kernel, fault, 1);
    }

    /** Faults of kernels are faults of the banks that call them. */
    @ParameterizedTest
    @EnumSource(names = {"ROW_LOST", "ROWS_SWAPPED", "NOT_A_NUMBER"})
    void banksThatLoseOrSwapRowsFail(Fault fault) {
        assertFound("outputIsThatOfOneExpertPerRow", fault, 1);
        assertFound("gradientsAreThoseOfOneExpertPerRow", fault, 1);
        assertFound("everyKindOfExpertGivesWhatOneExpertPerRowGives", fault, 1);
    }

    @Test
    void banksWithLostUpdatesAndWrongDerivativesFail() {
        assertFound("gradientsAreAddedToBuffersWhereThereAreAny", Fault.UPDATE_LOST, 1);
        assertFound("gradientsAreThoseOfOneExpertPerRow", Fault.DERIVATIVE, 1e-3);
        assertFound("everyKindOfExpertGivesWhatOneExpertPerRowGives", Fault.DERIVATIVE, 1e-3);
    }

    /** Twelve roundings of an activation's own gauge, which is at least its slope, are allowed. */
    @Test
    void derivativesJustAboveTheLimitFail() {
        String formulas = "activationsAndTheirAdjointsFollowTheirFormulas";
        assertThat(failing(Fault.DERIVATIVE, 0.9 * 0x1p-24))
                .containsOnly( // exact ones
                        "plainActivationsHaveTheRightLimits",
                        "swiGluHasTheRightLimits",
                        "clampedSwiGluHasTheRightLimits",
                        "clampedSwiGluWithoutALimitHasTheRightLimits");
        assertFound(formulas, Fault.DERIVATIVE, 13 * 0x1p-24);
        assertFound(formulas, Fault.DERIVATIVE, -13 * 0x1p-24);
    }

    @Test
    void sumsThatAreOffByMoreThanTheirRoundingsFail() {
        assertFound("sumRowsAddsScaledRowsAndSkipsMinusOne", Fault.SUM, 1e-5);
        assertFound("sumRowsOfNoRowsIsZero", Fault.SUM, Double.MIN_VALUE);
    }
}
