package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/**
 * How one wide expert of F = Σ_j m_j intermediate units is the sum of n parts, {@code E*(x) = Σ_j E_j(x)} (Equations 74 to 76 of
 * the report on Olmo's MoE recipe, which says it of SwiGLU). It holds for every {@link Activation}, as all of them act unit by
 * unit. Part j has the m_j units behind those of the parts before it: their rows of gate and up, their columns of down, their
 * entries of the inner biases. Values move in their own precision and none is computed, but for the sum of down biases.
 *
 * <p><b>Down biases</b> are not cut: each part adds its own to the output, and that of the wide expert is their sum. So
 * its gradient is the gradient of each of them, and the two forms train alike in everything else only: a step −η·d on
 * each of n biases moves their sum by −n·η·d. They train alike when just one part's down bias moves, or when the step size of
 * the parts' down biases is divided by n and a decoupled weight decay of theirs multiplied by n.
 *
 * <p>Sets of matrices are named as {@link org.moe4j.core.expert.FeedForwardExperts#expert} names them; results are handles of the
 * caller, and share no memory with arguments.
 *
 * @param activation what stands between the projections
 * @param biases whether every projection has a bias
 * @param hiddenSize D, at least 1
 * @param widths m_j of each part, at least 1 each, below 2³¹ in all
 */
public record Partition(Activation activation, boolean biases, int hiddenSize, List<Integer> widths) {
    /**
     * Checks the sizes.
     *
     * @param activation what stands between the projections
     * @param biases whether every projection has a bias
     * @param hiddenSize D, at least 1
     * @param widths m_j of each part, at least 1 each, below 2³¹ in all
     * @throws IllegalArgumentException for no part, a size below 1, or more than 2^31 − 1 units in all
     */
    public Partition {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        widths = List.copyOf(widths);
        if (widths.isEmpty()) {
            throw Require.expected("widths", "at least 1 part", "an empty list");
        }
        long sum = 0;
        for (int j = 0; j < widths.size(); j++) {
            sum += Require.atLeast("widths[" + j + "]", widths.get(j), 1);
        }
        if (sum > Integer.MAX_VALUE) {
            throw Require.expected("widths", "at most 2^31 - 1 intermediate units in all", sum);
        }
    }

    /**
     * The partition whose parts are the given experts.
     *
     * @param activation of all of them
     * @param experts at least one, all of one hidden size and one backend, with biases in all or in none
     * @return widths as they have them
     * @throws IllegalArgumentException for no expert, or one with other parameters than the activation has
     */
    public static Partition of(Activation activation, List<Parameters> experts) {
        if (experts.isEmpty()) {
            throw Require.expected("experts", "at least 1 expert", "an empty list");
        }
        boolean biases = experts.get(0).names().contains(BankPart.DOWN_BIAS.key());
        List<Integer> widths = new ArrayList<>();
        for (int j = 0; j < experts.size(); j++) {
            ExpertMatrices.requireNames("experts[" + j + "]", experts.get(j), activation, biases);
            widths.add(ExpertMatrices.up(experts.get(j)).rows());
        }
        Partition partition = new Partition(
                activation, biases, ExpertMatrices.up(experts.get(0)).columns(), widths);
        partition.check("experts", experts);
        return partition;
    }

    /**
     * A partition of an expert of the given shape.
     *
     * @param wide shape of the expert; how many there are of it does not matter
     * @param widths m_j, at least 1 each, F in all
     * @return the partition
     * @throws IllegalArgumentException for a width below 1, or widths that do not add up to the intermediate size
     */
    public static Partition of(ExpertShape wide, int... widths) {
        long sum = 0;
        for (int j = 0; j < widths.length; j++) {
            sum += Require.atLeast("widths[" + j + "]", widths[j], 1);
        }
        Require.count("widths", sum, wide.intermediateSize(), "in all (intermediate size)");
        return new Partition(
                wide.activation(),
                wide.biases(),
                wide.hiddenSize(),
                Arrays.stream(widths).boxed().toList());
    }

    /**
     * A partition into parts of one width.
     *
     * @param wide shape of the expert; how many there are of it does not matter
     * @param parts n, at least 1, a divisor of F
     * @return n widths of F/n
     * @throws IllegalArgumentException for a number of parts that does not divide the intermediate size
     */
    public static Partition even(ExpertShape wide, int parts) {
        if (parts < 1 || wide.intermediateSize() % parts != 0) {
            throw Require.expected("parts", "a divisor of " + wide.intermediateSize() + " (intermediate size)", parts);
        }
        int[] widths = new int[parts];
        Arrays.fill(widths, wide.intermediateSize() / parts);
        return of(wide, widths);
    }

    /**
     * Shape of the wide expert.
     *
     * @return one expert of width F
     */
    public ExpertShape wide() {
        return shape(widths.stream().mapToInt(width -> width).sum());
    }

    /**
     * Shape of a part.
     *
     * @param index 0 ≤ index &lt; n
     * @return one expert of width m_index
     */
    public ExpertShape part(int index) {
        return shape(widths.get(Objects.checkIndex(index, widths.size())));
    }

    private ExpertShape shape(int width) {
        return new ExpertShape(1, hiddenSize, width, activation, biases);
    }

    /**
     * The wide expert of the given parts. Its down bias is the sum of theirs, in double precision and rounded once.
     *
     * @param experts weights of the parts, in order
     * @return weights of the wide expert
     * @throws IllegalArgumentException also when a sum of finite down biases is infinite
     */
    public Parameters concatenate(List<Parameters> experts) {
        return concatenate("experts", experts, DownBias::sum);
    }

    /**
     * The parts of a wide expert. Its down bias goes to the first part, the others have zeros. Concatenating them again
     * gives the same bits; splitting what was concatenated gives those of everything but the down biases.
     *
     * @param wide weights of the wide expert
     * @return weights of the parts, in order
     */
    public List<Parameters> split(Parameters wide) {
        return split(wide, DownBias::share);
    }

    /**
     * Gradients of the wide expert, from those that its parts have when they are added. What an optimizer keeps element by
     * element, as the moments of Adam, maps the same way.
     *
     * @param gradients of the parts, in order, under the names of the weights
     * @return gradients of the wide expert
     * @throws IllegalArgumentException also when the gradients of the down biases differ in a bit: those of parts of one expert
     *     are all the same
     */
    public Parameters concatenateGradients(List<Parameters> gradients) {
        return concatenate("gradients", gradients, DownBias::common);
    }

    /**
     * The same, without a look at the down biases of the other parts: for gradients that agree up to rounding, as when
     * different coefficients were divided out.
     *
     * @param gradients of the parts, in order, under the names of the weights
     * @param downBiasOf index of the part whose gradient of the down bias is taken
     * @return gradients of the wide expert
     * @throws IllegalArgumentException for {@code downBiasOf} out of range
     */
    public Parameters concatenateGradients(List<Parameters> gradients, int downBiasOf) {
        Require.inRange("downBiasOf", downBiasOf, 0, widths.size() - 1, "parts");
        return concatenate("gradients", gradients, biases -> Pieces.copy(biases.get(downBiasOf)));
    }

    /**
     * Gradients of the parts, from those of the wide expert: their slices of it, and for every down bias the same. Moments of an
     * optimizer map the same way.
     *
     * @param wide gradients of the wide expert, under the names of the weights
     * @return gradients of the parts, in order
     */
    public List<Parameters> splitGradients(Parameters wide) {
        return split(wide, (gradient, part) -> Pieces.copy(gradient));
    }

    private void check(String argument, List<Parameters> sets) {
        Require.count(argument, sets.size(), widths.size(), "sets of matrices (parts)");
        ExpertMatrices.requireNames(argument + "[0]", sets.get(0), activation, biases);
        Backend backend = ExpertMatrices.up(sets.get(0)).backend();
        for (int j = 0; j < sets.size(); j++) {
            ExpertMatrices.require(argument + "[" + j + "]", sets.get(j), part(j), backend, "sizes of the partition");
        }
    }

    private Parameters concatenate(String argument, List<Parameters> sets, Function<List<Matrix>, Matrix> downBias) {
        check(argument, sets);
        Map<String, Matrix> wide = new LinkedHashMap<>();
        try (Unfinished made = new Unfinished()) {
            for (BankPart part : BankPart.of(activation, biases)) {
                List<Matrix> pieces =
                        sets.stream().map(set -> set.get(part.key())).toList();
                wide.put(
                        part.key(),
                        made.add(
                                switch (part) {
                                    case GATE, UP -> Pieces.below(pieces);
                                    case DOWN, GATE_BIAS, UP_BIAS -> Pieces.beside(pieces);
                                    case DOWN_BIAS -> downBias.apply(pieces);
                                }));
            }
            made.keep();
            return Parameters.of(wide);
        }
    }

    private interface Share {
        Matrix of(Matrix downBias, int part);
    }

    private List<Parameters> split(Parameters wide, Share downBias) {
        ExpertMatrices.requireNames("wide", wide, activation, biases);
        Backend backend = ExpertMatrices.up(wide).backend();
        ExpertMatrices.require("wide", wide, wide(), backend, "sizes of the partition");
        List<Parameters> parts = new ArrayList<>();
        try (Unfinished made = new Unfinished()) {
            int from = 0;
            for (int j = 0; j < widths.size(); j++) {
                Map<String, Matrix> weights = new LinkedHashMap<>();
                for (BankPart part : BankPart.of(activation, biases)) {
                    Matrix whole = wide.get(part.key());
                    weights.put(
                            part.key(),
                            made.add(
                                    switch (part) {
                                        case GATE, UP -> Pieces.rows(whole, from, widths.get(j));
                                        case DOWN, GATE_BIAS, UP_BIAS -> Pieces.columns(whole, from, widths.get(j));
                                        case DOWN_BIAS -> downBias.of(whole, j);
                                    }));
                }
                parts.add(Parameters.of(weights));
                from += widths.get(j);
            }
            made.keep();
            return List.copyOf(parts);
        }
    }
}
