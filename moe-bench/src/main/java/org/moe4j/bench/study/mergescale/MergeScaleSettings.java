package org.moe4j.bench.study.mergescale;

import org.moe4j.core.preset.Preset;

/**
 * Sizes, seeds and tokens of the merge-scale study.
 *
 * @param forward layer of panels a and d
 * @param forwardSeeds number of seeds of the forward half
 * @param forwardTokens tokens of each seed
 * @param backward layer of panels b and c
 * @param backwardSeeds number of seeds of the backward half
 * @param backwardTokens tokens of each seed
 * @param tolerance how far a mean may be from the published one
 */
public record MergeScaleSettings(
        Preset forward,
        int forwardSeeds,
        int forwardTokens,
        Preset backward,
        int backwardSeeds,
        int backwardTokens,
        double tolerance) {
    private static final int SURROGATE_SIZE = 256;
    private static final double NARROW = 0.004;
    private static final double WIDE = 0.01;

    /**
     * What the report used: the full layer forward, a tenth of every dimension backward.
     *
     * @return 8 seeds of 512 tokens forward, 12 seeds of 1024 tokens backward
     */
    public static MergeScaleSettings published() {
        return new MergeScaleSettings(full(), 8, 512, surrogate(), 12, 1024, NARROW);
    }

    /**
     * A look in seconds: the small layer forward too, two seeds.
     *
     * @return settings with a wider tolerance
     */
    public static MergeScaleSettings quick() {
        return new MergeScaleSettings(surrogate(), 2, 512, surrogate(), 2, 1024, WIDE);
    }

    /**
     * The same with the full layer forward.
     *
     * @return the changed settings
     */
    public MergeScaleSettings withFullForward() {
        return with(full(), tolerance);
    }

    /**
     * The same with the small layer forward, whose narrower branches vary more from seed to seed.
     *
     * @return the changed settings, with the wider tolerance
     */
    public MergeScaleSettings withSurrogateForward() {
        return with(surrogate(), WIDE);
    }

    private MergeScaleSettings with(Preset layer, double wanted) {
        return new MergeScaleSettings(
                layer, forwardSeeds, forwardTokens, backward, backwardSeeds, backwardTokens, wanted);
    }

    /**
     * The layer of the report's forward measurements.
     *
     * @return D 2560, F 2560, shared 1280, E 48, K 4
     */
    static Preset full() {
        return Preset.named("olmo-study");
    }

    /**
     * The same layer at a tenth of every dimension, all 48 experts.
     *
     * @return D 256, F 256, shared 128, E 48, K 4
     */
    static Preset surrogate() {
        return full().scaledTo(SURROGATE_SIZE, SURROGATE_SIZE);
    }

    /**
     * Steps of the study, for showing progress.
     *
     * @return one per seed and half
     */
    public int steps() {
        return forwardSeeds + backwardSeeds;
    }
}
