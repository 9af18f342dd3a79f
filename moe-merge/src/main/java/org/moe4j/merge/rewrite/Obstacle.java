package org.moe4j.merge.rewrite;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.moe4j.core.backend.Activation;
import org.moe4j.merge.SharedScore;

/** A condition of the collapse that does not hold, or that cannot be seen to hold. */
public sealed interface Obstacle {
    /**
     * What the collapse needs.
     *
     * @return for a message that begins {@code shared: expected}
     */
    String expected();

    /**
     * What was found.
     *
     * @return for the same message
     */
    String found();

    /**
     * Why it matters, or what to do.
     *
     * @return the end of the same message
     */
    String hint();

    private static String line(String condition, Obstacle obstacle) {
        return condition + ": expected " + obstacle.expected() + " but was " + obstacle.found() + "; "
                + obstacle.hint();
    }

    /**
     * Experts with something else between their projections: the units of one MLP have one activation.
     *
     * @param first of shared expert 0
     * @param expert index of the other
     * @param other its activation
     */
    record Activations(Activation first, int expert, Activation other) implements Obstacle {
        @Override
        public String expected() {
            return "experts of one activation (" + first + " of shared[0])";
        }

        @Override
        public String found() {
            return other + " of shared[" + expert + "]";
        }

        @Override
        public String hint() {
            return "units of different activations are not one expert";
        }

        @Override
        public String toString() {
            return line("one activation", this);
        }
    }

    /**
     * Biases in some experts only.
     *
     * @param first whether shared expert 0 has biases
     * @param expert index of one that differs
     */
    record Biases(boolean first, int expert) implements Obstacle {
        @Override
        public String expected() {
            return "biases in all shared experts or in none (" + (first ? "with" : "without") + " in shared[0])";
        }

        @Override
        public String found() {
            return "shared[" + expert + "] " + (first ? "without" : "with");
        }

        @Override
        public String hint() {
            return "an expert with biases of zero is the same function as one without";
        }

        @Override
        public String toString() {
            return line("biases alike", this);
        }
    }

    /**
     * An implementation of {@link org.moe4j.core.expert.Experts} that is not the library's: its own normalisation, another input or
     * a choice among tokens, each of which keeps experts apart (Section 20.2 of the report on Olmo's MoE recipe), would be inside it.
     *
     * @param expert index
     * @param type name of its class
     */
    record UnseenExpert(int expert, String type) implements Obstacle {
        @Override
        public String expected() {
            return "FeedForwardExperts or SwiGluExperts";
        }

        @Override
        public String found() {
            return type + " as shared[" + expert + "]";
        }

        @Override
        public String hint() {
            return "whether it normalises, selects or reads something else cannot be seen";
        }

        @Override
        public String toString() {
            return line("plain experts", this);
        }
    }

    /**
     * An implementation of {@link org.moe4j.core.layer.OutputMerge} that is not the library's.
     *
     * @param type name of its class
     */
    record UnseenMerge(String type) implements Obstacle {
        @Override
        public String expected() {
            return "a ScaledMerge or a GatedMerge";
        }

        @Override
        public String found() {
            return type;
        }

        @Override
        public String hint() {
            return "whether it multiplies all shared experts alike cannot be seen";
        }

        @Override
        public String toString() {
            return line("one coefficient", this);
        }
    }

    /**
     * Coefficients that differ by expert and depend on the token (Equation 78 of the report on Olmo's MoE recipe).
     *
     * @param score of the merge
     * @param groups indices of experts with equal gate rows, at least 2 groups; with {@link SharedScore#SIGMOID} each group is one
     *     expert with one gate (Equation 77), with a shared router it is not, because its coefficients depend on the number of rows
     * @param fit how near a fixed down projection comes, where there were tokens to try it on
     */
    record DistinctGates(SharedScore score, List<List<Integer>> groups, Optional<DownFit> fit) implements Obstacle {
        /**
         * Copies the lists.
         *
         * @param score of the merge
         * @param groups indices of experts with equal gate rows
         * @param fit how near a fixed down projection comes
         */
        public DistinctGates {
            groups = groups.stream().map(List::copyOf).toList();
        }

        @Override
        public String expected() {
            return "one coefficient for all shared experts (equal rows of merge.gate)";
        }

        @Override
        public String found() {
            return groups.stream().map(List::toString).collect(Collectors.joining(" and ")) + " with rows of their own";
        }

        @Override
        public String hint() {
            return "coefficients that differ by expert and vary with the token do not fold into one down projection"
                    + " (Equation 78)";
        }

        @Override
        public String toString() {
            return line("one coefficient", this)
                    + fit.map(one -> "\n  as near as it gets: " + one).orElse("");
        }
    }
}
