package org.moe4j.router.analysis;

import java.util.Objects;
import org.moe4j.core.internal.Require;

/** The router logits of the tokens of one layer, read in blocks. For one thread at a time. */
public interface LogitSource {
    /**
     * Number of experts.
     *
     * @return E
     */
    int experts();

    /**
     * Number of tokens.
     *
     * @return T
     */
    long tokens();

    /**
     * Reads the logits of some tokens.
     *
     * @param from 0 ≤ from
     * @param count tokens, {@code from + count} ≤ T
     * @param into gets {@code count}·E numbers, token after token
     * @throws ArithmeticException when one of them is not finite
     */
    void read(long from, int count, double[] into);

    /**
     * Logits in an array.
     *
     * @param experts E
     * @param logits T·E finite numbers, token after token; copied
     * @return the source
     */
    static LogitSource of(int experts, double[] logits) {
        Require.atLeast("experts", experts, 1);
        if (logits.length % experts != 0) {
            throw Require.expected("logits", "a multiple of " + experts + " numbers (experts)", logits.length);
        }
        for (int i = 0; i < logits.length; i++) {
            if (!Double.isFinite(logits[i])) {
                throw new ArithmeticException("router logits: expected finite values but token " + i / experts
                        + ", expert " + i % experts + " has " + logits[i]);
            }
        }
        double[] own = logits.clone();
        return new LogitSource() {
            @Override
            public int experts() {
                return experts;
            }

            @Override
            public long tokens() {
                return own.length / experts;
            }

            @Override
            public void read(long from, int count, double[] into) {
                Objects.checkFromIndexSize(from, count, tokens());
                Require.atLeast("into.length", into.length, count * experts);
                System.arraycopy(own, Math.toIntExact(from * experts), into, 0, count * experts);
            }
        };
    }
}
