package org.moe4j.merge.rewrite;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;

/**
 * Whether the shared experts of a layer are one wider expert, with the evidence (Section 20 of the report on Olmo's MoE recipe).
 *
 * <p>A shared branch sends every token to all of its experts and gives them the same input, so that two conditions remain: they are
 * feed-forward experts with one activation and with biases in all or in none, and one coefficient multiplies all of them, which may
 * depend on the token. Both are seen in types and weights; what has another type than the library's is not judged but refused
 * ({@link Obstacle.UnseenExpert}, {@link Obstacle.UnseenMerge}).
 *
 * <p>A verdict speaks of the function that the layer computes with the weights it has. Whether both forms also go on alike when they
 * are trained is another question ({@link #trainsAlike()}). It is about shared experts only: routed experts are selected, and weighted
 * token by token, by a port that tells a merge nothing about its weights; they are never one expert. {@link SharedBranchCollapse}
 * rewrites a layer of which this says that it can be.
 */
public sealed interface Collapsibility {
    /**
     * Judges a layer by its types and weights.
     *
     * @param layer any
     * @return the verdict; where gates differ without a fit
     */
    static Collapsibility of(MoeLayer layer) {
        return SharedInspection.verdict(layer, Optional.empty());
    }

    /**
     * Judges a layer by its types and weights, and says where gates differ how near one fixed down projection comes on some tokens.
     *
     * @param layer any
     * @param tokens (T×D) as the layer takes them; T at least twice {@code Σm_j}. Read only where gates differ
     * @return the verdict
     * @throws IllegalArgumentException where gates differ, for tokens that do not fit, are too few or not finite
     * @throws ArithmeticException where gates differ, when an activation or a gate value is not finite
     */
    static Collapsibility of(MoeLayer layer, Matrix tokens) {
        return SharedInspection.verdict(layer, Optional.of(tokens));
    }

    /**
     * Whether one wide expert computes the same function as all shared experts together, now.
     *
     * @return true for {@link OneExpert}
     */
    default boolean collapsible() {
        return this instanceof OneExpert;
    }

    /**
     * Whether both forms stay the same function under training as well: from mapped weights and optimizer state, with all parameters
     * trained, under an optimizer that works element by element, as AdamW. No partition survives an optimizer that works on whole
     * matrices, as Muon, or norms taken for each of them.
     *
     * @return true for a {@link OneExpert} whose {@link OneExpert#differences()} are empty
     */
    default boolean trainsAlike() {
        return this instanceof OneExpert one && one.differences().isEmpty();
    }

    /** Why the separate and the wide form of one function go apart under training. */
    enum Difference {
        /**
         * Each of n gate rows has a gradient of its own, so that rows that are equal do not stay so. The gradient of one common row is
         * the sum of theirs. With the gate frozen there is no difference.
         */
        GATE_ROWS,

        /**
         * The down bias of the wide expert is the sum of n, each of which has the gradient that the sum has: under the same step size
         * the sum of n moves n times as far. With n times the step size for the wide one, and a weight decay divided by n, there is no
         * difference.
         */
        DOWN_BIASES
    }

    /**
     * Fewer than two shared experts: nothing to collapse.
     *
     * @param experts 0 or 1
     */
    record TooFew(int experts) implements Collapsibility {
        @Override
        public String toString() {
            return (experts == 0 ? "no shared expert" : "1 shared expert") + ": nothing to collapse";
        }
    }

    /**
     * The shared experts are one wider expert.
     *
     * @param activation of all of them
     * @param biases whether all of them have biases
     * @param widths m_j, at least 2 of them
     * @param coefficient what multiplies all of them
     */
    record OneExpert(Activation activation, boolean biases, List<Integer> widths, CommonCoefficient coefficient)
            implements Collapsibility {
        /**
         * Copies the list.
         *
         * @param activation of all experts
         * @param biases whether all experts have biases
         * @param widths m_j, at least 2 of them
         * @param coefficient what multiplies all experts
         */
        public OneExpert {
            widths = List.copyOf(widths);
        }

        /**
         * Intermediate size of the wide expert (Equation 79 of the report).
         *
         * @return {@code Σ_j m_j}
         */
        public int width() {
            return widths.stream().mapToInt(Integer::intValue).sum();
        }

        /**
         * What training makes different although the function is the same.
         *
         * @return none where both forms train alike
         */
        public Set<Difference> differences() {
            Set<Difference> differences = EnumSet.noneOf(Difference.class);
            if (!(coefficient instanceof CommonCoefficient.Fixed)) {
                differences.add(Difference.GATE_ROWS);
            }
            if (biases) {
                differences.add(Difference.DOWN_BIASES);
            }
            return differences;
        }

        @Override
        public String toString() {
            String sum = widths.stream().map(String::valueOf).collect(Collectors.joining(" + "));
            return widths.size() + " shared experts are one of width " + sum + " = " + width()
                    + "\n  one activation: " + activation + (biases ? ", biases in all" : ", no biases")
                    + "\n  one coefficient: " + coefficient
                    + "\n  same function: yes"
                    + "\n  trains alike: "
                    + (trainsAlike()
                            ? "yes, under an optimizer that works element by element"
                            : "no, " + differences());
        }
    }

    /**
     * The shared experts are not one expert, or cannot be seen to be.
     *
     * @param experts how many there are, at least 2
     * @param obstacles at least one
     */
    record Apart(int experts, List<Obstacle> obstacles) implements Collapsibility {
        /**
         * Copies the list.
         *
         * @param experts how many there are, at least 2
         * @param obstacles at least one
         */
        public Apart {
            obstacles = List.copyOf(obstacles);
        }

        @Override
        public String toString() {
            return experts + " shared experts are not one"
                    + obstacles.stream().map(one -> "\n  " + one).collect(Collectors.joining());
        }
    }
}
