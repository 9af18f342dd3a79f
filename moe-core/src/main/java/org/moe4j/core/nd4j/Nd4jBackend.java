package org.moe4j.core.nd4j;

import java.nio.FloatBuffer;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Function;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.host.Machine;
import org.moe4j.core.host.Workers;
import org.moe4j.core.internal.Require;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Single or double precision on ND4J's ground: OpenBLAS on the CPU, ND4J operations on a GPU.
 *
 * <p>The host strategy keeps matrices in native memory, gives products to OpenBLAS on one thread each, in parallel over
 * experts and blocks, and does the rest in Java loops. It does not start ND4J (seconds) unless {@link #wrap} or
 * {@link #unwrap} is called. The device strategy uses ND4J operations only.
 *
 * <p>The first backend of a process compares OpenBLAS with Java; where OpenBLAS is wrong, Java loops multiply instead, many times
 * slower, and one line of the log says so.
 *
 * <p>On the host, results have the same bits run after run and for any number of workers, on one machine with one
 * OpenBLAS; a row's last bits may depend on how many rows its group has.
 */
public final class Nd4jBackend implements Backend {
    private static final String CUDA_BACKEND = "org.nd4j.linalg.jcublas.JCublasBackend";

    private final Precision precision;
    private final Strategy strategy;
    private final Function<Elements, Blas> products;
    private final Kernels kernels;

    private Nd4jBackend(Precision precision, Strategy strategy, int workers, Function<Elements, Blas> products) {
        this.precision = precision;
        this.strategy = strategy;
        this.products = products;
        this.kernels = strategy == Strategy.HOST ? host(workers) : new DeviceKernels(this, precision);
    }

    private HostKernels host(int workers) {
        Elements elements = precision == Precision.FLOAT32 ? new FloatElements() : new DoubleElements();
        return new HostKernels(this, elements, products.apply(elements), new Workers(workers));
    }

    /** The number type of a backend's matrices. */
    public enum Precision {
        /** Single precision, unit roundoff 2⁻²⁴. */
        FLOAT32,
        /** Double precision, unit roundoff 2⁻⁵³. */
        FLOAT64
    }

    /** Where a backend's matrices are, and who works on them. */
    public enum Strategy {
        /** Native memory, OpenBLAS and Java loops. */
        HOST,
        /** Wherever the ND4J backend on the class path has them, ND4J operations only. */
        DEVICE
    }

    /**
     * Single precision, on the device if ND4J's CUDA backend is on the class path and on the host otherwise.
     *
     * @return a backend that uses all processors
     */
    public static Nd4jBackend float32() {
        return of(Precision.FLOAT32, present());
    }

    /**
     * Double precision, on the device if ND4J's CUDA backend is on the class path and on the host otherwise.
     *
     * @return a backend that uses all processors
     */
    public static Nd4jBackend float64() {
        return of(Precision.FLOAT64, present());
    }

    /**
     * A backend of the given kind.
     *
     * @param precision number type
     * @param strategy where the work is done
     * @return a backend that uses all processors
     */
    public static Nd4jBackend of(Precision precision, Strategy strategy) {
        return new Nd4jBackend(precision, strategy, Runtime.getRuntime().availableProcessors(), CheckedBlas::of);
    }

    /** A backend of the host strategy with the given products. */
    static Nd4jBackend on(Precision precision, Function<Elements, Blas> products) {
        return new Nd4jBackend(precision, Strategy.HOST, 2, products);
    }

    /** Looks for the class without initialising it: starting ND4J takes seconds. */
    private static Strategy present() {
        try {
            Class.forName(CUDA_BACKEND, false, Nd4jBackend.class.getClassLoader());
            return Strategy.DEVICE;
        } catch (ClassNotFoundException | LinkageError absent) {
            return Strategy.HOST;
        }
    }

    /**
     * The same backend with another number of threads per call, the caller's among them; the bits do not change. The
     * device strategy has no threads of its own and ignores it.
     *
     * @param workers at least 1
     * @return a backend that is equal to this one
     * @throws IllegalArgumentException for {@code workers} below 1
     */
    public Nd4jBackend withWorkers(int workers) {
        return new Nd4jBackend(precision, strategy, Require.atLeast("workers", workers, 1), products);
    }

    /**
     * A matrix on the memory of an array, without a copy. The matrix keeps the array alive; the caller promises neither to
     * write to it nor to close it.
     *
     * @param array two-dimensional, of this backend's precision, in 'c' order without gaps
     * @return a matrix with the array's values
     */
    public Matrix wrap(INDArray array) {
        NdArrayChecks.matrix(array, precision);
        return kernels.wrap(array);
    }

    /**
     * An array on the memory of a matrix, without a copy, to be read only. It stays valid when the matrix is closed.
     *
     * @param matrix a matrix of this backend
     * @return an array of the same shape; without elements, an empty one
     * @throws IllegalArgumentException for {@code matrix} of another backend
     */
    public INDArray unwrap(Matrix matrix) {
        KernelChecks.owner("matrix", matrix, this);
        return kernels.unwrap(matrix);
    }

    /**
     * Which OpenBLAS the host strategy has loaded.
     *
     * @return version as written in the library, the kernels chosen for this processor, threads, and what is wrong if it is not used
     */
    public static String blasReport() {
        return OpenBlas.report()
                + CheckedBlas.fault()
                        .map(what -> ", not used, as it is wrong: " + what)
                        .orElse("");
    }

    /** For the line of the log that says which backend was chosen. */
    static String details() {
        return present() == Strategy.DEVICE ? "device strategy, " + Machine.moe4j() : CheckedBlas.details();
    }

    @Override
    public String name() {
        String type = precision == Precision.FLOAT32 ? "float32" : "float64";
        return "Nd4jBackend[" + type + (strategy == Strategy.HOST ? "]" : ", device]");
    }

    @Override
    public double unitRoundoff() {
        return kernels.unitRoundoff();
    }

    @Override
    public Matrix matrix(int rows, int columns, double[] rowMajor) {
        Require.count("rowMajor", rowMajor.length, Require.elements(rows, columns), "values (rows x columns)");
        return kernels.matrix(rows, columns, rowMajor);
    }

    @Override
    public Matrix matrix(int rows, int columns, float[] rowMajor) {
        Require.count("rowMajor", rowMajor.length, Require.elements(rows, columns), "values (rows x columns)");
        return kernels.matrix(rows, columns, rowMajor);
    }

    @Override
    public Matrix matrix(int rows, int columns, FloatBuffer rowMajor) {
        int count = Require.elements(rows, columns);
        if (rowMajor.remaining() < count) {
            throw Require.expected("rowMajor", "at least " + count + " values (rows x columns)", rowMajor.remaining());
        }
        return kernels.matrix(rows, columns, rowMajor);
    }

    @Override
    public Matrix matrix(int rows, int columns, RowSource source) {
        if (Require.manyElements(rows, columns) == 0) {
            return kernels.matrix(rows, columns, new double[0]);
        }
        return kernels.matrix(rows, columns, source);
    }

    @Override
    public Matrix buffer(int rows, int columns) {
        Require.manyElements(rows, columns);
        return kernels.buffer(rows, columns);
    }

    @Override
    public Matrix groupedMatmul(Matrix a, RowGroups groups, List<Matrix> b) {
        int columns = KernelChecks.groupedMatmul(this, a, groups, b, false);
        return kernels.groupedMatmul(a, groups, b, false, columns);
    }

    @Override
    public Matrix groupedMatmulTransB(Matrix a, RowGroups groups, List<Matrix> b) {
        int columns = KernelChecks.groupedMatmul(this, a, groups, b, true);
        return kernels.groupedMatmul(a, groups, b, true, columns);
    }

    @Override
    public List<Matrix> groupedMatmulTransA(Matrix a, Matrix b, RowGroups groups) {
        KernelChecks.groupedMatmulTransA(this, a, b, groups);
        return kernels.groupedMatmulTransA(a, b, groups);
    }

    @Override
    public void accumulateMatmulTransA(Matrix a, Matrix b, RowGroups groups, Map<Integer, Matrix> into) {
        KernelChecks.accumulateMatmulTransA(this, a, b, groups, into);
        kernels.accumulateMatmulTransA(a, b, groups, into);
    }

    @Override
    public Matrix gatherRows(Matrix a, int[] rows) {
        KernelChecks.gatherRows(this, a, rows);
        return kernels.gatherRows(a, rows);
    }

    @Override
    public Matrix sumRows(Matrix a, int[] rows, double[] scales, int perRow) {
        KernelChecks.sumRows(this, a, rows, scales, perRow);
        return kernels.sumRows(a, rows, scales, perRow);
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
        return kernels.linearCombination(alpha, a, beta, b);
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
        if (kernels instanceof HostKernels host) {
            weights.requireOwner(this);
            return host.prepare(weights);
        }
        return Backend.super.prepare(weights);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Nd4jBackend that && precision == that.precision && strategy == that.strategy;
    }

    @Override
    public int hashCode() {
        return 31 * precision.hashCode() + strategy.hashCode();
    }

    @Override
    public String toString() {
        return name();
    }
}
