package org.moe4j.core.layer;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.internal.Closing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/**
 * The shared experts and the rule that merges them with the routed output: neither makes sense without the other.
 *
 * @param experts banks of one, of any widths; none for a merge that acts on the routed output alone
 * @param merge how the branches are joined
 */
public record SharedBranch(List<Experts> experts, OutputMerge merge) {
    /**
     * Checks that every bank holds one expert.
     *
     * @param experts banks of one, of any widths; none for a merge that acts on the routed output alone
     * @param merge how the branches are joined
     * @throws IllegalArgumentException for a bank of more than one expert
     */
    public SharedBranch {
        experts = List.copyOf(experts);
        for (int i = 0; i < experts.size(); i++) {
            Require.count("experts[" + i + "]", experts.get(i).shape().count(), 1, "expert (every token goes to it)");
        }
    }

    /**
     * A branch with one shared expert.
     *
     * @param expert a bank of one
     * @param merge how it is joined
     * @return the branch
     */
    public static SharedBranch of(Experts expert, OutputMerge merge) {
        return new SharedBranch(List.of(expert), merge);
    }

    SharedPass forward(Matrix tokens, Matrix routed) {
        int[] rows = allRows(tokens.rows());
        try (Unfinished made = new Unfinished()) {
            List<ExpertsPass> passes = new ArrayList<>();
            for (Experts expert : experts) {
                passes.add(made.add(expert.forward(tokens, rows, RowGroups.single(rows.length))));
            }
            List<Matrix> outputs = passes.stream().map(ExpertsPass::output).toList();
            SharedPass pass = new SharedPass(tokens, passes, outputs, merge.merge(tokens, routed, outputs));
            made.keep();
            return pass;
        }
    }

    /** The merged output of some of the tokens, keeping nothing. */
    Matrix apply(Matrix tokens, Matrix routed) {
        int[] rows = allRows(tokens.rows());
        try (Unfinished made = new Unfinished()) { // closes the outputs, whatever happens
            List<Matrix> outputs = new ArrayList<>();
            for (Experts expert : experts) {
                outputs.add(made.add(expert.apply(tokens, rows, RowGroups.single(rows.length))));
            }
            return merge.merge(tokens, routed, outputs).output();
        }
    }

    private static int[] allRows(int count) {
        int[] rows = new int[count];
        for (int i = 0; i < count; i++) {
            rows[i] = i;
        }
        return rows;
    }

    /** Names {@code shared.<i>.<projection>} and {@code merge.<name>}. */
    Parameters parameters() {
        Parameters all = merge.parameters().prefixed("merge");
        for (int i = experts.size() - 1; i >= 0; i--) {
            all = sharedNames(experts.get(i).parameters(), i).and(all);
        }
        return all;
    }

    void close() {
        Closing.each(experts, Experts::close);
        merge.close();
    }

    /** From the names of a bank of one to those of the layer. */
    static Parameters sharedNames(Parameters ofBank, int index) {
        return ofBank.under("0").prefixed("shared." + index);
    }

    SharedBranch withParameters(Parameters ofLayer) {
        List<Experts> changed = new ArrayList<>();
        try (Unfinished made = new Unfinished()) {
            for (int i = 0; i < experts.size(); i++) {
                Parameters ofBank = ofLayer.under("shared." + i).prefixed("0");
                changed.add(made.add(experts.get(i).withParameters(ofBank)));
            }
            OutputMerge ownMerge = merge.withParameters(ofLayer.under("merge"));
            made.keep();
            return new SharedBranch(changed, ownMerge);
        }
    }
}
