package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/**
 * Exact rewrites of ungated shared experts (Section 20 of the report on Olmo's MoE recipe): their sum is one wider expert,
 * and a wide expert is the sum of its parts, as {@link Partition} cuts it. The weights move, none of them is computed, so that every
 * bit survives; only the down biases of several experts are added up.
 *
 * <p>The experts must add with one and the same coefficient per token, which stays outside: {@code a(x) · Σ_j E_j(x) =
 * a(x) · E*(x)} (Equation 77). Coefficients that differ by expert and vary with the input (Equation 78) cannot be collapsed.
 */
public final class SharedExpertCollapse {
    private SharedExpertCollapse() {}

    /**
     * One expert that computes the sum of several: {@code E*(x) = Σ_j E_j(x)}, of width {@code Σ_j m_j} (Equations 75 and
     * 76). Its gate and up projections are those of the experts below one another, its down projection theirs side by side.
     *
     * @param experts at least one; gate, up (m_j×D), down (D×m_j), all of one hidden size and one backend
     * @return gate, up (Σm_j×D), down (D×Σm_j); handles of the caller
     * @throws IllegalArgumentException when the list is empty, or hidden sizes or backends differ
     */
    public static SwiGluWeights concatenate(List<SwiGluWeights> experts) {
        List<Parameters> parts =
                experts.stream().map(SharedExpertCollapse::named).toList();
        return weights(Partition.of(new SwiGlu(), parts).concatenate(parts));
    }

    /**
     * The inverse of {@link #concatenate}: several experts whose sum is the given one. Any widths that add up to its own
     * give the same function.
     *
     * @param wide gate, up (F×D), down (D×F)
     * @param widths m_j, at least 1 each, F in all
     * @return one expert per width, gate, up (m_j×D), down (D×m_j); handles of the caller
     * @throws IllegalArgumentException when a width is below 1 or the widths do not add up to F
     */
    public static List<SwiGluWeights> split(SwiGluWeights wide, int... widths) {
        ExpertShape shape = new ExpertShape(1, wide.hiddenSize(), wide.intermediateSize());
        return Partition.of(shape, widths).split(named(wide)).stream()
                .map(SharedExpertCollapse::weights)
                .toList();
    }

    private static Parameters named(SwiGluWeights weights) {
        return Parameters.of(BankPart.GATE.key(), weights.gate())
                .and(Parameters.of(BankPart.UP.key(), weights.up()))
                .and(Parameters.of(BankPart.DOWN.key(), weights.down()));
    }

    private static SwiGluWeights weights(Parameters named) {
        return new SwiGluWeights(
                named.get(BankPart.GATE.key()), named.get(BankPart.UP.key()), named.get(BankPart.DOWN.key()));
    }

    /**
     * One shared expert for several, of any activation, with biases or without: {@code E*(x) = Σ_j E_j(x)}.
     *
     * @param banks at least one, of one expert each, whose widths may differ and all else is the same; they stay the caller's
     * @return a bank of one of width {@code Σ_j m_j}, of the caller
     * @throws IllegalArgumentException when activations, biases, hidden sizes or backends differ, or a bank has several experts
     */
    public static FeedForwardExperts concatenateBanks(List<? extends Experts> banks) {
        return concatenated(banks, (j, expert) -> expert);
    }

    /**
     * One shared expert for several with fixed coefficients, which its down projection and down bias absorb:
     * {@code E*(x) = Σ_j c_j · E_j(x)}.
     *
     * @param banks as above
     * @param coefficients c_j of each bank
     * @return a bank of one of width {@code Σ_j m_j}, of the caller
     * @throws IllegalArgumentException also when a product is not finite
     */
    public static FeedForwardExperts concatenateBanks(List<? extends Experts> banks, List<DownScale> coefficients) {
        Require.count("coefficients", coefficients.size(), banks.size(), "(one per bank)");
        return concatenated(banks, (j, expert) -> coefficients.get(j).absorb("banks[" + j + "]", expert));
    }

    private interface Change {
        Parameters of(int index, Parameters expert);
    }

    private static FeedForwardExperts concatenated(List<? extends Experts> banks, Change change) {
        if (banks.isEmpty()) {
            throw Require.expected("banks", "at least 1 bank", "an empty list");
        }
        List<Integer> widths = new ArrayList<>();
        for (int j = 0; j < banks.size(); j++) {
            requireLike(banks.get(0), "banks[" + j + "]", banks.get(j));
            widths.add(banks.get(j).shape().intermediateSize());
        }
        ExpertShape first = banks.get(0).shape();
        Partition partition = new Partition(first.activation(), first.biases(), first.hiddenSize(), widths);
        List<Parameters> parts = new ArrayList<>();
        try (Unfinished handles = new Unfinished()) {
            for (int j = 0; j < banks.size(); j++) {
                Parameters expert = handles.add(banks.get(j).parameters()).under("0");
                parts.add(handles.add(change.of(j, expert)));
            }
            Parameters wide = handles.add(partition.concatenate(parts));
            return FeedForwardExperts.of(first.activation(), List.of(wide)); // has handles of its own
        }
    }

    private static void requireLike(Experts first, String argument, Experts bank) {
        ExpertShape expected = first.shape();
        ExpertShape shape = bank.shape();
        Require.count(argument, shape.count(), 1, "expert (of a shared bank)");
        if (!shape.activation().equals(expected.activation())) {
            throw Require.expected(
                    argument,
                    expected.activation() + " (activation of banks[0])",
                    shape.activation(),
                    "units of two activations are not one expert");
        }
        if (shape.biases() != expected.biases()) {
            throw Require.expected(
                    argument,
                    expected.biases() ? "biases (as in banks[0])" : "no biases (as in banks[0])",
                    shape.biases() ? "an expert with them" : "an expert without them",
                    "an expert with biases of 0 is the same function");
        }
        Require.count(argument, shape.hiddenSize(), expected.hiddenSize(), "as hidden size (of banks[0])");
        KernelChecks.sameBackend(argument, bank.backend(), first.backend());
    }

    /**
     * The inverse of {@link #concatenateBanks}: several shared experts whose sum is the given one. Its down bias goes to the
     * first of them.
     *
     * @param wide a bank of one expert, of width F; it stays the caller's
     * @param widths m_j, at least 1 each, F in all
     * @return a bank of one per width, of the caller
     * @throws IllegalArgumentException for a bank of more than one expert, or widths that do not add up to its own
     */
    public static List<FeedForwardExperts> splitBank(Experts wide, int... widths) {
        Require.count("wide", wide.shape().count(), 1, "expert (of a shared bank)");
        Partition partition = Partition.of(wide.shape(), widths);
        List<FeedForwardExperts> banks = new ArrayList<>();
        try (Unfinished made = new Unfinished();
                Unfinished handles = new Unfinished()) {
            Parameters weights = handles.add(wide.parameters()).under("0");
            List<Parameters> parts = partition.split(weights);
            parts.forEach(handles::add);
            for (Parameters part : parts) {
                banks.add(made.add(FeedForwardExperts.of(partition.activation(), List.of(part))));
            }
            made.keep();
            return List.copyOf(banks);
        }
    }
}
