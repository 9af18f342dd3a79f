package org.moe4j.bench.study.collapse;

import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/**
 * Both forms of one shared branch, beside one another.
 *
 * @param size name of the size
 * @param widths of the parts
 * @param coefficients of the parts
 * @param backend name of the backend
 * @param single whether that is single precision
 * @param difference {@code max |parts − wide|}
 * @param differenceOfTwo the same of the first two tokens, as many as the report's figure has
 * @param norm {@code max |parts|}
 * @param ofBound largest share of {@link RoundingBound}; empty where the forms are two functions
 * @param residual of the best fixed down projection, where one was looked for and the forms are two functions
 * @param parts what the parts cost
 * @param wide what the wide expert costs
 */
public record FunctionRow(
        String size,
        List<Integer> widths,
        SharedCoefficients coefficients,
        String backend,
        boolean single,
        double difference,
        double differenceOfTwo,
        double norm,
        OptionalDouble ofBound,
        OptionalDouble residual,
        Cost parts,
        Cost wide) {
    /**
     * Copies the list.
     *
     * @param size name of the size
     * @param widths of the parts
     * @param coefficients of the parts
     * @param backend name of the backend
     * @param single whether that is single precision
     * @param difference {@code max |parts − wide|}
     * @param differenceOfTwo the same of the first two tokens
     * @param norm {@code max |parts|}
     * @param ofBound largest share of the bound
     * @param residual of the best fixed down projection
     * @param parts what the parts cost
     * @param wide what the wide expert costs
     */
    public FunctionRow {
        widths = List.copyOf(widths);
    }

    /**
     * What one form costs.
     *
     * @param parameters numbers in its projections
     * @param flopsPerToken of one forward token, a multiply-add counted as two
     * @param modules experts
     */
    public record Cost(long parameters, long flopsPerToken, int modules) {}

    /**
     * Number of parts.
     *
     * @return N_s
     */
    public int experts() {
        return widths.size();
    }

    /**
     * Relative difference.
     *
     * @return difference over norm
     */
    public double relative() {
        return difference / norm;
    }

    /**
     * The widths in one word.
     *
     * @return as 10+8+6
     */
    public String widthsText() {
        return widths.stream().map(String::valueOf).collect(Collectors.joining("+"));
    }
}
