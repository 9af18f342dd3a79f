package org.moe4j.checkpoint.trace;

import java.util.BitSet;

/** Which rows of a file are tokens: all, or those that a mask marks, which takes a bit for each row. */
final class KeptRows {
    private static final int BLOCK = 4096;

    private final long count;
    private final BitSet marks; // of a mask
    private final int[] before; // marks before each block of rows; none without a mask

    private KeptRows(long count, BitSet marks, int[] before) {
        this.count = count;
        this.marks = marks;
        this.before = before;
    }

    static KeptRows all(long rows) {
        return new KeptRows(rows, new BitSet(), new int[0]);
    }

    /** The marked ones of as many rows. */
    static KeptRows of(BitSet marks, int rows) {
        int[] before = new int[rows / BLOCK + 1];
        for (int block = 1; block < before.length; block++) {
            before[block] = before[block - 1]
                    + marks.get((block - 1) * BLOCK, block * BLOCK).cardinality();
        }
        return new KeptRows(marks.cardinality(), marks, before);
    }

    /** Number of tokens. */
    long count() {
        return count;
    }

    /** The row of a token. */
    long row(long token) {
        if (before.length == 0) {
            return token;
        }
        int low = 0; // the last block before which there are at most so many
        int high = before.length - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (before[middle] <= token) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        int row = marks.nextSetBit(low * BLOCK);
        for (long left = token - before[low]; left > 0; left--) {
            row = marks.nextSetBit(row + 1);
        }
        return row;
    }

    /** Takes rows that follow one another in the file. */
    interface Run {
        void take(long row, int rows, int done);
    }

    /** The rows of some tokens. */
    void forEachRun(long from, int tokens, Run run) {
        if (before.length == 0 || tokens == 0) {
            run.take(from, tokens, 0);
            return;
        }
        int row = (int) row(from);
        for (int done = 0; done < tokens; ) {
            int end = marks.nextClearBit(row);
            int length = Math.min(end - row, tokens - done);
            run.take(row, length, done);
            done += length;
            row = marks.nextSetBit(end);
        }
    }
}
