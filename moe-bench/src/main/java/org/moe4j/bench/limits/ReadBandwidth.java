package org.moe4j.bench.limits;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.moe4j.bench.limits.read.VectorSum;

/**
 * How fast all processors together can read memory: each adds up an array of floats of its own. Of plain loops the compiler makes far
 * slower ones, as it may not change the order of a sum of floats.
 */
final class ReadBandwidth {
    private static final int FEW = 4; // different numbers, so small that the sum of a piece is exact

    private final float[][] arrays;

    private ReadBandwidth(int threads, long bytes) {
        int length = Math.toIntExact(bytes / Float.BYTES / threads / VectorSum.PIECE * VectorSum.PIECE);
        arrays = new float[threads][length];
        for (float[] array : arrays) {
            for (int i = 0; i < length; i++) {
                array[i] = i % FEW;
            }
        }
    }

    /** Bytes per second of the fastest of the passes over so many bytes. */
    static double measure(int threads, long bytes, double warmUp, double seconds) {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            ReadBandwidth read = new ReadBandwidth(threads, bytes);
            double best = CallTimes.of(() -> read.pass(pool), warmUp, seconds).best();
            return (double) threads * read.arrays[0].length * Float.BYTES / best;
        } finally {
            pool.shutdown();
        }
    }

    /** All arrays once, and the check that all of each was read. */
    private void pass(ExecutorService pool) {
        List<Future<Double>> sums = new ArrayList<>();
        for (float[] array : arrays) {
            sums.add(pool.submit(() -> sum(array)));
        }
        double expected = arrays[0].length * (FEW - 1) / 2.0;
        try {
            for (Future<Double> sum : sums) {
                if (sum.get() != expected) {
                    throw new IllegalStateException(
                            "read bandwidth: expected a sum of " + expected + " but was " + sum.get());
                }
            }
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException("read bandwidth: expected to finish", e);
        }
    }

    private static double sum(float[] array) {
        double sum = 0;
        for (int from = 0; from < array.length; from += VectorSum.PIECE) {
            sum += VectorSum.of(array, from);
        }
        return sum;
    }
}
