package org.moe4j.bench.peers;

/** What a call does. */
public enum Pass {
    /** The output, keeping nothing. */
    FORWARD("forward"),
    /** The output, and from its gradient those of the tokens, the router and all experts, added to what is there. */
    FORWARD_AND_BACKWARD("forward+backward");

    private final String text;

    Pass(String text) {
        this.text = text;
    }

    /**
     * Its name in tables.
     *
     * @return forward or forward+backward
     */
    public String text() {
        return text;
    }
}
