package org.moe4j.router.analysis.synthetic;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.internal.Require;

/** Popularities of several kinds of text: a common profile, and one of each kind's own, which is one profile turned. */
final class KindsOfText {
    private static final double ROUNDING = 1e-9;

    private final int experts;
    private final int topK;
    private final double variation;
    private final int[] starts; // of one block for each kind, and the end
    private final PopularityProfile common;
    private final PopularityProfile own;

    KindsOfText(int experts, int topK, double variation, int kinds) {
        this.experts = experts;
        this.topK = topK;
        this.variation = variation;
        starts = new int[kinds + 1];
        for (int kind = 0; kind <= kinds; kind++) {
            starts[kind] = Math.toIntExact((long) kind * experts / kinds);
        }
        common = PopularityProfile.ofBlocks(starts);
        own = PopularityProfile.plain(experts);
    }

    List<double[]> ofDistance(double distance) {
        double most = distance(ofVariation(1));
        if (!(distance >= 0 && distance <= most + ROUNDING)) {
            throw Require.expected("distance", "0.." + most + " (with this variation and so many kinds)", distance);
        }
        double share = distance == 0 ? 0 : PopularityProfile.solve(0, 1, distance, part -> distance(ofVariation(part)));
        List<double[]> kinds = ofVariation(share);
        if (Math.abs(variation(kinds) - variation) > ROUNDING) {
            throw Require.expected(
                    "variation", "at most " + variation(kinds) + " (with this distance and so many kinds)", variation);
        }
        return kinds;
    }

    /** The kinds with a share of their own and the right variation. */
    private List<double[]> ofVariation(double share) {
        double sigma = PopularityProfile.solve(
                0, PopularityProfile.STEEPEST, variation, steepness -> variation(of(share, steepness)));
        return of(share, sigma);
    }

    private List<double[]> of(double share, double sigma) {
        double[] together = common.of(topK, sigma);
        double[] alone = own.of(topK, sigma);
        List<double[]> kinds = new ArrayList<>();
        for (int kind = 0; kind + 1 < starts.length; kind++) {
            double[] inclusion = new double[experts];
            for (int e = 0; e < experts; e++) {
                double turned = alone[(e - starts[kind] + experts) % experts];
                inclusion[e] = (1 - share) * together[e] + share * turned;
            }
            kinds.add(inclusion);
        }
        return kinds;
    }

    private static double variation(List<double[]> kinds) {
        return kinds.stream()
                .mapToDouble(PopularityProfile::variation)
                .average()
                .orElseThrow();
    }

    private double distance(List<double[]> kinds) {
        double sum = 0;
        int pairs = 0;
        for (int a = 0; a < kinds.size(); a++) {
            for (int b = 0; b < a; b++) {
                for (int e = 0; e < experts; e++) {
                    sum += Math.abs(kinds.get(a)[e] - kinds.get(b)[e]) / (2 * topK);
                }
                pairs++;
            }
        }
        return sum / pairs;
    }
}
