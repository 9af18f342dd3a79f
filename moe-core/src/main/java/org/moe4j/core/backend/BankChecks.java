package org.moe4j.core.backend;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/** The checks at the doors of a bank, the same for every backend: for those who write one. */
public final class BankChecks {
    private BankChecks() {}

    /**
     * {@link Backend#prepare}.
     *
     * @param backend the backend asked
     * @param weights of E experts
     */
    public static void prepare(Backend backend, BankWeights weights) {
        weights.parts().forEach((part, matrices) -> {
            for (int e = 0; e < matrices.size(); e++) {
                KernelChecks.owner(part.key() + "[" + e + "]", matrices.get(e), backend);
            }
        });
    }

    /**
     * {@link BankPass#backward(Matrix, Map)}: buffers of the weights' shapes, each under one name.
     *
     * @param backend the backend asked
     * @param weights of E experts
     * @param into a buffer for some of the weights
     */
    public static void buffers(Backend backend, BankWeights weights, Map<BankPart, Map<Integer, Matrix>> into) {
        IdentityHashMap<Matrix, String> taken = new IdentityHashMap<>();
        into.forEach((part, buffers) -> buffers.forEach((expert, buffer) -> {
            Matrix weight = weights.get(part).get(Objects.checkIndex(expert, weights.count()));
            String name = "into." + expert + "." + part.key();
            KernelChecks.owner(name, buffer, backend);
            KernelChecks.buffer(name, buffer, weight.rows(), weight.columns(), "shape of the weight");
            Require.once(name, buffer, taken);
        }));
    }

    /**
     * A run of a bank.
     *
     * @param backend the backend asked
     * @param tokens (T×D)
     * @param rows N indices
     * @param groups N rows in E groups
     * @param experts E
     * @param hidden D
     */
    public static void run(Backend backend, Matrix tokens, int[] rows, RowGroups groups, int experts, int hidden) {
        KernelChecks.owner("tokens", tokens, backend);
        Require.count("tokens", tokens.columns(), hidden, "columns (hidden size of the experts)");
        Require.count("groups", groups.count(), experts, "groups (one per expert)");
        Require.count("rows", rows.length, groups.rows(), "indices (rows of the groups)");
        KernelChecks.indices("rows", rows, 0, tokens.rows());
    }
}
