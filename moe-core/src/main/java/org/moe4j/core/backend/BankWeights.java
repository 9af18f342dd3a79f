package org.moe4j.core.backend;

import java.util.Collections;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import org.moe4j.core.internal.Closing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;

/**
 * The weights of E experts of one shape: for each part one matrix per expert, in the layout of checkpoints (out × in).
 *
 * @param activation what stands between the projections
 * @param parts up and down; gate with a gated activation; a bias for each projection or for none
 */
public record BankWeights(Activation activation, Map<BankPart, List<Matrix>> parts) implements AutoCloseable {
    private static final List<BankPart> EVERY_PART = List.of(BankPart.values());

    /**
     * Checks that the parts are those of the activation and that all shapes fit, and copies the lists.
     *
     * @param activation what stands between the projections
     * @param parts up and down; gate with a gated activation; a bias for each projection or for none
     * @throws IllegalArgumentException for other parts than the activation has, no expert, another number of matrices in a part,
     *     or a matrix of another shape
     */
    public BankWeights {
        List<BankPart> expected = BankPart.of(activation, parts.containsKey(BankPart.DOWN_BIAS));
        if (!parts.keySet().equals(Set.copyOf(expected))) {
            throw Require.expected("parts", expected + " (" + activation + ")", parts.keySet());
        }
        Map<BankPart, List<Matrix>> copies = new EnumMap<>(BankPart.class);
        parts.forEach((part, matrices) -> copies.put(part, List.copyOf(matrices)));
        parts = Collections.unmodifiableMap(copies);
        List<Matrix> up = get(parts, BankPart.UP);
        if (up.isEmpty()) {
            throw Require.expected("up", "at least 1 expert", "an empty list");
        }
        int intermediate = up.get(0).rows();
        int hidden = up.get(0).columns();
        copies.forEach((part, matrices) -> {
            Require.count(part.key(), matrices.size(), up.size(), "matrices (one per expert)");
            for (int e = 0; e < matrices.size(); e++) {
                KernelChecks.shape(
                        part.key() + "[" + e + "]",
                        matrices.get(e),
                        part.rows(hidden, intermediate),
                        part.columns(hidden, intermediate),
                        "sizes of up[0]");
            }
        });
    }

    /**
     * Plain SwiGLU experts.
     *
     * @param gate E matrices (F×D)
     * @param up E matrices (F×D)
     * @param down E matrices (D×F)
     * @return their weights
     */
    public static BankWeights swiGlu(List<Matrix> gate, List<Matrix> up, List<Matrix> down) {
        return new BankWeights(
                new Activation.SwiGlu(), Map.of(BankPart.GATE, gate, BankPart.UP, up, BankPart.DOWN, down));
    }

    private static List<Matrix> get(Map<BankPart, List<Matrix>> parts, BankPart part) {
        List<Matrix> matrices = parts.get(part);
        if (matrices == null) {
            throw new NoSuchElementException("part: expected one of " + parts.keySet() + " but was " + part);
        }
        return matrices;
    }

    /**
     * The matrices of one part.
     *
     * @param part one of this bank's parts
     * @return one matrix per expert
     * @throws NoSuchElementException when the bank has no such part
     */
    public List<Matrix> get(BankPart part) {
        return get(parts, part);
    }

    /**
     * Number of experts.
     *
     * @return E, at least 1
     */
    public int count() {
        return get(BankPart.UP).size();
    }

    /**
     * Width of a token.
     *
     * @return D
     */
    public int hiddenSize() {
        return get(BankPart.UP).get(0).columns();
    }

    /**
     * Width inside the expert.
     *
     * @return F
     */
    public int intermediateSize() {
        return get(BankPart.UP).get(0).rows();
    }

    /**
     * Whether every projection has a bias.
     *
     * @return false when none has
     */
    public boolean biases() {
        return parts.containsKey(BankPart.DOWN_BIAS);
    }

    /**
     * The same weights on handles of their own.
     *
     * @return to be closed on its own
     */
    public BankWeights share() {
        try (Unfinished made = new Unfinished()) {
            Map<BankPart, List<Matrix>> shared = new EnumMap<>(BankPart.class);
            parts.forEach((part, matrices) -> shared.put(
                    part, matrices.stream().map(one -> made.add(one.share())).toList()));
            made.keep();
            return new BankWeights(activation, shared);
        }
    }

    /**
     * The check at the door of {@link Backend#prepare}, for those who write a backend.
     *
     * @param backend the backend asked
     * @throws IllegalArgumentException for a matrix of another backend
     */
    public void requireOwner(Backend backend) {
        parts.forEach((part, matrices) -> {
            for (int e = 0; e < matrices.size(); e++) {
                KernelChecks.owner(part.key() + "[" + e + "]", matrices.get(e), backend);
            }
        });
    }

    /**
     * The check of a run of a bank with these weights.
     *
     * @param backend the backend asked
     * @param tokens (T×D)
     * @param rows N indices
     * @param groups N rows in E groups
     * @throws IllegalArgumentException for tokens or rows of another backend, width or number, or a row out of range
     */
    public void requireRun(Backend backend, Matrix tokens, int[] rows, RowGroups groups) {
        KernelChecks.owner("tokens", tokens, backend);
        Require.count("tokens", tokens.columns(), hiddenSize(), "columns (hidden size of the experts)");
        Require.count("groups", groups.count(), count(), "groups (one per expert)");
        Require.count("rows", rows.length, groups.rows(), "indices (rows of the groups)");
        KernelChecks.indices("rows", rows, 0, tokens.rows());
    }

    /**
     * The check of what {@link Bank#applySummed} has beside a run.
     *
     * @param backend the backend asked
     * @param summed N
     * @param sums indices into the N rows, or −1
     * @param scales as many factors
     * @param perSum terms of each sum
     * @param output a buffer
     * @param at its first row that is written
     * @return how many sums
     * @throws IllegalArgumentException for sums, scales or rows that do not fit, {@code buffer} of another backend or a matrix
     *     that is no buffer of the right shape
     */
    public int requireSums(
            Backend backend, int summed, int[] sums, double[] scales, int perSum, Matrix output, int at) {
        int count = KernelChecks.sums(summed, sums, scales, perSum);
        KernelChecks.owner("buffer", output, backend);
        KernelChecks.written(output, at, count, hiddenSize());
        return count;
    }

    /**
     * The check of {@link BankPass#backward(Matrix, Map)}: buffers of the weights' shapes, each under one name.
     *
     * @param backend the backend asked
     * @param into a buffer for some of the weights
     * @throws IllegalArgumentException for a matrix of another backend, a matrix that is no buffer of the right shape or a name
     *     that stands twice
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public void requireBuffers(Backend backend, Map<BankPart, Map<Integer, Matrix>> into) {
        IdentityHashMap<Matrix, String> taken = new IdentityHashMap<>();
        into.forEach((part, buffers) -> buffers.forEach((expert, buffer) -> {
            Matrix weight = get(part).get(Objects.checkIndex(expert, count()));
            String name = "into." + expert + "." + part.key();
            KernelChecks.owner(name, buffer, backend);
            KernelChecks.buffer(name, buffer, weight.rows(), weight.columns(), "shape of the weight");
            Require.once(name, buffer, taken);
        }));
    }

    /** Closes all handles. */
    @Override
    public void close() {
        close(parts);
    }

    static void close(Map<BankPart, List<Matrix>> parts) {
        for (int i = 0; i < EVERY_PART.size(); i++) { // no iterator: the Java heap may be full
            Closing.each(parts.getOrDefault(EVERY_PART.get(i), List.of()), Matrix::close);
        }
    }
}
