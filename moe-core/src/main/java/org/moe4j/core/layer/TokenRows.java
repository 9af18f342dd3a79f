package org.moe4j.core.layer;

import org.moe4j.core.backend.Matrix;

/** A run of tokens. */
final class TokenRows {
    private TokenRows() {}

    /** Tokens from ≤ t &lt; to: another handle on all of them, or a copy of the part. */
    static Matrix of(Matrix tokens, int from, int to) {
        return from == 0 && to == tokens.rows() ? tokens.share() : copy(tokens, from, to);
    }

    /** A copy that does not change when the tokens are a buffer. */
    static Matrix copy(Matrix tokens, int from, int to) {
        int[] rows = new int[to - from];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = from + i;
        }
        return tokens.backend().gatherRows(tokens, rows);
    }
}
