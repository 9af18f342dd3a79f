package org.moe4j.checkpoint.trace;

import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

/** Experts of tokens in a file. */
final class StoredIndices implements RoutingSource {
    private final StoredRows rows;
    private final int experts;
    private int[] room = new int[0];

    StoredIndices(StoredRows rows, int experts) {
        this.rows = rows;
        this.experts = experts;
    }

    @Override
    public int experts() {
        return experts;
    }

    @Override
    public int topK() {
        return rows.columns();
    }

    @Override
    public long tokens() {
        return rows.tokens();
    }

    @Override
    public ChosenExperts block(long from, int count) {
        int numbers = Require.product("count x topK", count, rows.columns());
        if (room.length < numbers) {
            room = new int[numbers];
        }
        rows.read(from, count, room);
        try {
            return ChosenExperts.of(experts, rows.columns(), count, room);
        } catch (IllegalArgumentException fault) {
            throw new IllegalArgumentException(fault(from, count), fault);
        }
    }

    /** The first fault, with the name of the file and the token's place in it. */
    private String fault(long from, int count) {
        for (int t = 0; t < count; t++) {
            for (int rank = 0; rank < topK(); rank++) {
                int expert = room[t * topK() + rank];
                if (expert < 0 || expert >= experts) {
                    return message("0.." + (experts - 1) + " (experts)", rows.number(from + t, rank), from + t);
                }
                for (int other = 0; other < rank; other++) {
                    if (room[t * topK() + other] == expert) {
                        return message("distinct experts of a token", expert + " twice", from + t);
                    }
                }
            }
        }
        throw new IllegalStateException(rows.file() + ": expected a file that stays as it is");
    }

    private String message(String expected, Object was, long token) {
        return rows.file() + ": " + rows.name() + ": expected " + expected + " but was " + was + " for "
                + rows.token(token);
    }
}
