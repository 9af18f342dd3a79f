package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;

/** Sums of rows that are asked for many times are the serial sum in the order of ranks, bit for bit. */
class RepeatedIndicesTest {
    private static final int ROWS = 512;
    private static final int TARGETS = 8;
    private static final int WIDTH = 256; // enough work that several workers take part

    private enum Subject {
        REFERENCE,
        VECTOR_32,
        VECTOR_64,
        HOST_32,
        HOST_64,
        DEVICE_32,
        DEVICE_64;

        Backend backend(int workers) {
            return switch (this) {
                case REFERENCE -> ReferenceBackend.instance();
                case VECTOR_32 -> VectorBackend.float32().withWorkers(workers);
                case VECTOR_64 -> VectorBackend.float64().withWorkers(workers);
                case HOST_32 -> Nd4jBackend.of(Precision.FLOAT32, Strategy.HOST).withWorkers(workers);
                case HOST_64 -> Nd4jBackend.of(Precision.FLOAT64, Strategy.HOST).withWorkers(workers);
                case DEVICE_32 -> Nd4jBackend.of(Precision.FLOAT32, Strategy.DEVICE);
                case DEVICE_64 -> Nd4jBackend.of(Precision.FLOAT64, Strategy.DEVICE);
            };
        }

        /** One addend more, in the arithmetic of the backend. */
        double plus(double sum, double scale, double value) {
            return switch (this) {
                case VECTOR_32 -> Math.fma((float) scale, (float) value, (float) sum);
                case VECTOR_64 -> Math.fma(scale, value, sum);
                case HOST_32, DEVICE_32 -> (float) sum + (float) scale * (float) value;
                case REFERENCE, HOST_64, DEVICE_64 -> sum + scale * value;
            };
        }

        /** Numbers of workers to try; devices have none of ours. */
        int[] threads() {
            return onHost() ? new int[] {1, 2, 3, 4, 8, 16} : new int[] {1};
        }

        boolean onHost() {
            return this != DEVICE_32 && this != DEVICE_64;
        }
    }

    /** Rows to be summed: half of the draws ask for the same few rows again and again, some slots for none. */
    private static int[] rows(SplittableRandom random, int perTarget) {
        int distinct = random.nextBoolean() ? ROWS : 1 + random.nextInt(4);
        return random.ints((long) TARGETS * perTarget, -1, distinct).toArray();
    }

    private static double[] serial(Subject subject, double[] from, int[] rows, double[] scales, int perTarget) {
        double[] sums = new double[TARGETS * WIDTH];
        for (int i = 0; i < sums.length; i++) {
            int first = i / WIDTH * perTarget;
            for (int slot = first; slot < first + perTarget; slot++) {
                if (rows[slot] >= 0) {
                    sums[i] = subject.plus(sums[i], scales[slot], from[rows[slot] * WIDTH + i % WIDTH]);
                }
            }
        }
        return sums;
    }

    private static Matrix matrix(SplittableRandom random, Backend backend, int rows) {
        return backend.matrix(
                rows, WIDTH, random.doubles((long) rows * WIDTH, -1, 1).toArray());
    }

    /** Runs of one draw with every number of workers; returns how many there were. */
    private static int runs(Subject subject, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int perTarget = 1 + random.nextInt(64);
        int[] rows = rows(random, perTarget);
        double[] scales = random.doubles(rows.length, -1, 1).toArray();
        double[] expected = null;
        for (int workers : subject.threads()) {
            Backend backend = subject.backend(workers);
            try (Matrix from = matrix(new SplittableRandom(seed), backend, ROWS);
                    Matrix sums = backend.sumRows(from, rows, scales, perTarget)) {
                expected = expected == null ? serial(subject, from.toArray(), rows, scales, perTarget) : expected;
                assertThat(Arrays.equals(sums.toArray(), expected))
                        .as("%s, seed %d, %d workers", subject, seed, workers)
                        .isTrue();
            }
        }
        return subject.threads().length;
    }

    private static int everyRun(Subject subject, int draws) {
        int runs = 0;
        for (int seed = 0; seed < draws; seed++) {
            runs += runs(subject, seed);
        }
        return runs;
    }

    @ParameterizedTest
    @EnumSource
    void sumsAreSerialWithAnyMultiplicity(Subject subject) {
        int runs = everyRun(subject, subject.onHost() ? 20 : 1);
        Promise.measured(12, "sums of rows, " + subject, "0 of " + runs + " runs with another bit");
    }

    @Tag("soak")
    @ParameterizedTest
    @EnumSource
    void sumsAreSerialTenThousandTimes(Subject subject) {
        int runs = everyRun(subject, subject.onHost() ? 1_700 : 100);
        Promise.measured(12, "sums of rows at length, " + subject, "0 of " + runs + " runs with another bit");
    }

    /** 8 tokens that each go to all of 64 experts: 512 rows, in a random order of ranks. */
    private static Routing everywhere(SplittableRandom random) {
        int experts = ROWS / TARGETS;
        int[] chosen = new int[ROWS];
        for (int t = 0; t < TARGETS; t++) {
            for (int e = 0; e < experts; e++) {
                int other = random.nextInt(e + 1);
                chosen[t * experts + e] = chosen[t * experts + other];
                chosen[t * experts + other] = e;
            }
        }
        return Routing.of(experts, experts, chosen, random.doubles(ROWS, -1, 1).toArray());
    }

    @ParameterizedTest
    @EnumSource
    void combineAndTheAdjointOfDispatchAreSerial(Subject subject) {
        SplittableRandom random = new SplittableRandom(12);
        Routing routing = everywhere(random);
        DispatchPlan plan = DispatchPlan.of(routing, Capacity.dropless());
        int[] rows = new int[ROWS];
        double[] weights = new double[ROWS];
        for (int slot = 0; slot < ROWS; slot++) {
            int token = slot / routing.topK();
            int rank = slot % routing.topK();
            rows[slot] = routing.expert(token, rank) * TARGETS + token; // every expert has every token
            weights[slot] = routing.weight(token, rank);
        }
        double[] ones = new double[ROWS];
        Arrays.fill(ones, 1);
        for (int workers : subject.threads()) {
            Backend backend = subject.backend(workers);
            Matrix outputs = matrix(new SplittableRandom(1), backend, ROWS);
            double[] from = outputs.toArray();
            assertThat(plan.combine(outputs).toArray()).isEqualTo(serial(subject, from, rows, weights, routing.topK()));
            assertThat(plan.dispatchBackward(outputs).toArray())
                    .isEqualTo(serial(subject, from, rows, ones, routing.topK()));
        }
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.MATCH_NONE, names = "DEVICE_.*")
    void manyCallersGetTheSerialSum(Subject subject) throws Exception {
        ExecutorService callers = Executors.newFixedThreadPool(16);
        try {
            List<Future<Integer>> runs = new ArrayList<>();
            for (int caller = 0; caller < 16; caller++) {
                long seed = 100L + caller % 4;
                runs.add(callers.submit(() -> runs(subject, seed)));
            }
            for (Future<Integer> run : runs) {
                assertThat(run.get()).isEqualTo(subject.threads().length);
            }
        } finally {
            callers.shutdownNow();
        }
    }

    /** The comparison bites: one addend that is lost, or two that change places, are another number. */
    @Test
    void aLostUpdateAndAnotherOrderAreOtherBits() {
        SplittableRandom random = new SplittableRandom(3);
        double[] from = matrix(random, ReferenceBackend.instance(), ROWS).toArray();
        int[] rows = random.ints(TARGETS * 64L, 0, ROWS).toArray();
        double[] scales = random.doubles(rows.length, -1, 1).toArray();
        double[] right = serial(Subject.REFERENCE, from, rows, scales, 64);
        int[] lost = rows.clone();
        lost[70] = -1;
        assertThat(serial(Subject.REFERENCE, from, lost, scales, 64)).isNotEqualTo(right);
        int[] turned = rows.clone();
        double[] turnedScales = scales.clone();
        turned[0] = rows[63];
        turned[63] = rows[0];
        turnedScales[0] = scales[63];
        turnedScales[63] = scales[0];
        assertThat(serial(Subject.REFERENCE, from, turned, turnedScales, 64)).isNotEqualTo(right);
    }
}
