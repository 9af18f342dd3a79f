package org.moe4j.checkpoint.trace;

import org.moe4j.router.analysis.LogitSource;

/** Router logits of tokens in a file. */
record StoredLogits(StoredRows rows) implements LogitSource {
    @Override
    public int experts() {
        return rows.columns();
    }

    @Override
    public long tokens() {
        return rows.tokens();
    }

    @Override
    public void read(long from, int count, double[] into) {
        rows.read(from, count, into);
    }
}
