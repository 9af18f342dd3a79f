package org.moe4j.bench.study.collapse;

import java.util.Locale;

/** A way of training both forms side by side, and whether they are to follow the same trajectory. */
public enum TrainingCase {
    /** Momentum and weight decay. */
    SGD("SGD", Learner.SGD, true),
    /** Adam with decoupled weight decay. */
    ADAMW("AdamW", Learner.ADAMW, true),
    /** Gradients of all parameters clipped by their global norm. */
    ADAMW_CLIPPED("AdamW, global norm clipped", Learner.ADAMW, true),
    /** Each matrix has a step of its own shape. */
    MUON("Muon", Learner.MUON, false),
    /** The parts learn first; then weights and momentum are concatenated. */
    SGD_JOINED("SGD, joined later", Learner.SGD, true),
    /** The parts learn first; then weights, both moments and the number of steps are taken over. */
    ADAMW_JOINED("AdamW, joined later", Learner.ADAMW, true),
    /** The same with the weights alone: the wide form's moments begin at 0. */
    ADAMW_STATE_LOST("AdamW, joined later without state", Learner.ADAMW, false),
    /** A gate row for each part, equal at the start, beside one row. */
    SGD_GATES("SGD, n equal gate rows and one", Learner.SGD, false),
    /** A down bias for each part beside one, their sum. */
    ADAMW_BIASES("AdamW, n down biases and their sum", Learner.ADAMW, false),
    /** The same, the parts' down biases with 1/n of the rate and n times the decay. */
    ADAMW_BIASES_SLOWED("AdamW, n down biases slowed n-fold", Learner.ADAMW, true);

    private final String phrase;
    private final Learner learner;
    private final boolean alike;

    TrainingCase(String phrase, Learner learner, boolean alike) {
        this.phrase = phrase;
        this.learner = learner;
        this.alike = alike;
    }

    /**
     * The name that scripts parse.
     *
     * @return sgd, adamw and so on
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * In words.
     *
     * @return for legends
     */
    public String phrase() {
        return phrase;
    }

    /**
     * Whether both forms have to train alike.
     *
     * @return false where they must not
     */
    public boolean alike() {
        return alike;
    }

    Learner learner() {
        return learner;
    }

    /** Whether the parts learn alone for the first half. */
    boolean joinedLate() {
        return this == SGD_JOINED || this == ADAMW_JOINED || this == ADAMW_STATE_LOST;
    }

    /** Whether the wide form begins with what the optimizers of the parts kept. */
    boolean takesState() {
        return this != ADAMW_STATE_LOST;
    }

    boolean clipped() {
        return this == ADAMW_CLIPPED;
    }

    boolean gated() {
        return this == SGD_GATES;
    }

    boolean biased() {
        return this == ADAMW_BIASES || this == ADAMW_BIASES_SLOWED;
    }

    /** By how much the down biases of the parts are slowed when there are n of them. */
    int slowing(int parts) {
        return this == ADAMW_BIASES_SLOWED ? parts : 1;
    }
}
