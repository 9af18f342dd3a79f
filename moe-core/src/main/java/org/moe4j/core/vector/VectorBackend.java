package org.moe4j.core.vector;

import java.lang.module.ModuleFinder;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.host.Workers;
import org.moe4j.core.internal.Require;

/**
 * The fastest backend on the CPU, without native libraries: Java's Vector API on weights that are packed when a bank is prepared.
 *
 * <p><b>Bits depend on nothing but the row.</b> Every output of a product is one chain of fused multiply-adds upwards over the inner
 * dimension, and everything else is a fixed sequence of roundings for each element. So a row has the same bits alone and in any batch,
 * with any number of workers, in every run, with vectors of any length and on every JDK.
 *
 * <p>Needs the module {@code jdk.incubator.vector}: start the JVM with {@code --add-modules jdk.incubator.vector}. The first backend of a
 * process compares every kernel with a scalar loop; where a bit differs there is no backend, and a line in the log.
 */
public final class VectorBackend implements Backend {
    private static final String MODULE = "jdk.incubator.vector";

    private final boolean single;
    private final WeightStorage storage;
    private final VectorKernels<?> kernels;

    private VectorBackend(boolean single, WeightStorage storage, int workers) {
        obstacle().ifPresent(what -> {
            throw new IllegalStateException("backend: " + what);
        });
        this.single = single;
        this.storage = storage;
        Workers pool = new Workers(workers);
        kernels = single
                ? new VectorKernels<>(this, FloatNumbers.INSTANCE, pool)
                : new VectorKernels<>(this, DoubleNumbers.INSTANCE, pool);
    }

    /**
     * Whether this JVM was started with the module that the backend needs, and computes right with it.
     *
     * @return false where {@link #float32()} would throw
     */
    public static boolean isAvailable() {
        return obstacle().isEmpty();
    }

    /** Why it cannot run in this JVM. */
    static Optional<String> obstacle() {
        if (ModuleLayer.boot().findModule(MODULE).isPresent()) {
            return SelfCheck.fault().map(what -> "expected kernels that compute what scalar loops do but was " + what);
        }
        return Optional.of(
                ModuleFinder.ofSystem().find(MODULE).isPresent()
                        ? "expected a JVM with the module " + MODULE
                                + " but was one without; start it with --add-modules " + MODULE
                        : "expected a Java runtime with the module " + MODULE + " but was one without; a JDK has it");
    }

    /**
     * Single precision.
     *
     * @return a backend that uses all processors
     * @throws IllegalStateException without the module {@code jdk.incubator.vector}, or where its kernels are wrong
     */
    public static VectorBackend float32() {
        return new VectorBackend(true, WeightStorage.EXACT, Runtime.getRuntime().availableProcessors());
    }

    /**
     * Double precision.
     *
     * @return a backend that uses all processors
     * @throws IllegalStateException without the module {@code jdk.incubator.vector}, or where its kernels are wrong
     */
    public static VectorBackend float64() {
        return new VectorBackend(false, WeightStorage.FULL, Runtime.getRuntime().availableProcessors());
    }

    /**
     * The same backend with another number of threads per call, the caller's among them; the bits do not change. All backends share one
     * pool of threads.
     *
     * @param workers at least 1
     * @return a backend that is equal to this one
     * @throws IllegalArgumentException for {@code workers} below 1
     */
    public VectorBackend withWorkers(int workers) {
        return new VectorBackend(single, storage, Require.atLeast("workers", workers, 1));
    }

    /**
     * The same backend that keeps weights of experts in another way; the bits of results do not change.
     *
     * @param weights how they are kept
     * @return a backend that is equal to this one
     */
    public VectorBackend withStorage(WeightStorage weights) {
        return new VectorBackend(single, weights, kernels.workers().threads());
    }

    @Override
    public String name() {
        return "VectorBackend[" + (single ? "float32]" : "float64]");
    }

    @Override
    public double unitRoundoff() {
        return kernels.numbers().unitRoundoff();
    }

    @Override
    public Matrix matrix(int rows, int columns, double[] rowMajor) {
        Require.count("rowMajor", rowMajor.length, Require.elements(rows, columns), "values (rows x columns)");
        return wrapped(kernels, rows, columns, rowMajor);
    }

    private static <A> Matrix wrapped(VectorKernels<A> kernels, int rows, int columns, double[] values) {
        A own = kernels.fresh(rows, columns);
        kernels.numbers().narrow(values, own, 0, values.length);
        return kernels.matrix(rows, columns, own, false);
    }

    @Override
    public Matrix matrix(int rows, int columns, float[] rowMajor) {
        Require.count("rowMajor", rowMajor.length, Require.elements(rows, columns), "values (rows x columns)");
        return matrix(rows, columns, FloatBuffer.wrap(rowMajor));
    }

    @Override
    public Matrix matrix(int rows, int columns, FloatBuffer rowMajor) {
        int count = Require.elements(rows, columns);
        if (rowMajor.remaining() < count) {
            throw Require.expected("rowMajor", "at least " + count + " values (rows x columns)", rowMajor.remaining());
        }
        return buffered(kernels, rows, columns, rowMajor);
    }

    private static <A> Matrix buffered(VectorKernels<A> kernels, int rows, int columns, FloatBuffer values) {
        A own = kernels.fresh(rows, columns);
        kernels.numbers().read(values, own);
        return kernels.matrix(rows, columns, own, false);
    }

    @Override
    public Matrix matrix(int rows, int columns, RowSource source) {
        return Require.elements(rows, columns) == 0
                ? wrapped(kernels, rows, columns, new double[0])
                : kernels.matrix(rows, columns, source);
    }

    @Override
    public Matrix buffer(int rows, int columns) {
        return buffer(kernels, rows, columns);
    }

    private static <A> Matrix buffer(VectorKernels<A> kernels, int rows, int columns) {
        return kernels.matrix(rows, columns, kernels.fresh(rows, columns), true);
    }

    @Override
    public Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b) {
        return kernels.grouped(a, groups, b, false, KernelChecks.groupedMatmul(this, a, groups, b, false));
    }

    @Override
    public Matrix groupedMatmulTransB(Matrix a, RowGroups groups, List<Matrix> b) {
        return kernels.grouped(a, groups, b, true, KernelChecks.groupedMatmul(this, a, groups, b, true));
    }

    @Override
    public List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups) {
        KernelChecks.groupedMatmulTransA(this, a, b, groups);
        return kernels.groupedTransA(a, b, groups);
    }

    @Override
    public void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        KernelChecks.accumulateMatmulTransA(this, a, b, groups, into);
        kernels.accumulateTransA(a, b, groups, into);
    }

    @Override
    public Matrix gatherRows(Matrix a, int[] rows) {
        KernelChecks.gatherRows(this, a, rows);
        return kernels.gatherRows(a, rows);
    }

    @Override
    public Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow) {
        return kernels.sumRows(a, rows, scales, perRow, KernelChecks.sumRows(this, a, rows, scales, perRow));
    }

    @Override
    public Matrix scaleRows(Matrix a, double[] scales) {
        KernelChecks.scaleRows(this, a, scales);
        return kernels.scaleRows(a, scales);
    }

    @Override
    public double[] rowDots(Matrix a, Matrix b) {
        KernelChecks.sameShape(this, "a", a, "b", b);
        return kernels.rowDots(a, b);
    }

    @Override
    public Matrix linearCombination(double alpha, Matrix a, double beta, Matrix b) {
        KernelChecks.sameShape(this, "a", a, "b", b);
        return kernels.combination(alpha, a, beta, b);
    }

    @Override
    public Matrix multiply(Matrix a, Matrix b) {
        KernelChecks.sameShape(this, "a", a, "b", b);
        return kernels.multiply(a, b);
    }

    @Override
    public Matrix activate(Activation activation, Projections projections) {
        KernelChecks.activate(this, activation, projections);
        return kernels.activate(activation, projections);
    }

    @Override
    public Projections activateBackward(Activation activation, Projections projections, Matrix dHidden) {
        KernelChecks.activateBackward(this, activation, projections, dHidden);
        return kernels.activateBackward(activation, projections, dHidden);
    }

    @Override
    public void accumulate(double keep, Matrix buffer, int fromRow, Matrix a) {
        KernelChecks.accumulate(this, buffer, fromRow, a);
        kernels.accumulate(keep, buffer, fromRow, a);
    }

    @Override
    public OptionalLong firstNonFinite(Matrix a) {
        KernelChecks.owner("a", a, this);
        return kernels.firstNonFinite(a);
    }

    @Override
    public Bank prepare(BankWeights weights) {
        weights.requireOwner(this);
        return bank(kernels, weights);
    }

    private <A> Bank bank(VectorKernels<A> own, BankWeights weights) {
        PackedBank.Packer<A> packer = Packing.packer(own.numbers(), weights, storage);
        KernelWarming.start(own.numbers(), packer);
        return new VectorBank<>(this, own, new PackedBank<>(own.numbers(), weights, packer, own.workers()));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof VectorBackend that && single == that.single;
    }

    @Override
    public int hashCode() {
        return Boolean.hashCode(single);
    }

    @Override
    public String toString() {
        return name();
    }
}
