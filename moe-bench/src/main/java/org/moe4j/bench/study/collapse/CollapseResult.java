package org.moe4j.bench.study.collapse;

import java.util.List;
import java.util.Optional;

/**
 * What the collapse study measured.
 *
 * @param settings sizes and steps
 * @param functions size by size, backend by backend, partition by partition
 * @param comparisons backend by backend
 * @param trainedOn name of the backend the layers learned on
 * @param trajectories one per way of training
 */
public record CollapseResult(
        CollapseSettings settings,
        List<FunctionRow> functions,
        List<Comparison> comparisons,
        String trainedOn,
        List<Trajectory> trajectories) {
    /** Of the max norm: as far as two forms of one function may differ in double precision. */
    public static final double ROUNDING = 1e-13;

    /**
     * Of the max norm: what the forms with gates that differ must differ by at least; and of the norm, what the best fixed down
     * projection must leave.
     */
    public static final double APART = 0.1;

    /** Of the max norm, in any step: as far as forms that train alike may come apart. */
    public static final double ALIKE = 1e-10;

    /** Of the max norm, after the last step: how far forms that do not train alike must come apart. */
    public static final double DIVERGED = 1e-2;

    /** Of the max norm in single precision, for a whole layer: 4·√max(D, F)·u, as on the page on numerics. */
    public static final double SINGLE_ROUNDING =
            4 * Math.sqrt(Math.max(TrainingLayers.HIDDEN, TrainingLayers.width())) * 0x1p-24;

    /** Largest difference that Figure 68 of the report on Olmo's MoE recipe prints, of two tokens in float32. */
    public static final double PUBLISHED_DIFFERENCE = 3.0e-8;

    /** Parameters that the same figure prints for both forms. */
    public static final int PUBLISHED_PARAMETERS = 432;

    /**
     * Copies the lists.
     *
     * @param settings sizes and steps
     * @param functions size by size, backend by backend, partition by partition
     * @param comparisons backend by backend
     * @param trainedOn name of the backend the layers learned on
     * @param trajectories one per way of training
     */
    public CollapseResult {
        functions = List.copyOf(functions);
        comparisons = List.copyOf(comparisons);
        trajectories = List.copyOf(trajectories);
    }

    /**
     * Everything that has to hold.
     *
     * @return with what was measured
     */
    public List<Claim> claims() {
        return CollapseClaims.of(this);
    }

    /**
     * What speaks against the claims.
     *
     * @return one line; empty when all of them hold
     */
    public Optional<String> shortfall() {
        return claims().stream()
                .filter(claim -> !claim.holds())
                .map(Claim::line)
                .findFirst();
    }
}
