package org.moe4j.bench.layer;

import java.util.List;

/**
 * A merge in plain words and numbers, those of the preset files.
 *
 * @param convention a name, or {@code none} for a layer without a shared branch
 * @param routedScale α of {@code scaled}
 * @param sharedScale s of {@code scaled}
 * @param score of {@code shared-router}: {@code softmax} or {@code sigmoid}
 */
record MergeWords(String convention, double routedScale, double sharedScale, String score) {
    /** The four of Table 37 of the report, which presume router weights that add up to 1. */
    static final List<String> OF_THE_REPORT =
            List.of("olmo", "routed-unit-sum", "equal-branch-mass", "width-proportional");

    static MergeWords of(String convention) {
        return new MergeWords(convention, 1, 1, "softmax");
    }

    boolean presumesUnitWeights() {
        return OF_THE_REPORT.contains(convention);
    }

    /** Whether the convention has the router's scale to itself. */
    boolean presumesUnscaled() {
        return presumesUnitWeights() || convention.equals("active-mean");
    }

    /** Rows of the parameter {@code merge.gate}; 0 for a convention without one. */
    int gateRows(int sharedExperts) {
        return convention.equals("sigmoid-gated") || convention.equals("shared-router") ? sharedExperts : 0;
    }

    @Override
    public String toString() {
        return switch (convention) {
            case "scaled" -> convention + "(" + routedScale + ", " + sharedScale + ")";
            case "shared-router" -> convention + "(" + score + ")";
            default -> convention;
        };
    }
}
