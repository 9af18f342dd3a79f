package org.moe4j.router.analysis.synthetic;

import java.util.Objects;
import java.util.SplittableRandom;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

/**
 * Tokens whose experts are drawn with exactly the probabilities of an {@link ExpertPopularity}. A token's experts follow from seed and
 * position alone, so that any of them can be read, in any blocks, again and again, and nothing is kept of them. For one thread at a
 * time.
 *
 * <p>The draw is systematic (Madow 1949): the experts stand in a row, each as long as its probability; one random number u in 0..1 is
 * drawn, and the experts at u, u + 1, …, u + K − 1 are the token's, all different since none is longer than 1. Which of two experts
 * go together depends on the row; a token's row is one of up to 256 random ones. The order of a token's experts says nothing.
 */
public final class SyntheticRouting implements RoutingSource {
    /** Rows of so many experts are kept. */
    static final int MOST_EXPERTS = 1 << 16;

    private static final int MOST_ROWS = 256;
    private static final int ROOM = 1 << 18; // experts of all rows together, if there are no more
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final int SHARE_BITS = 24;
    private static final int ROW_BITS = 8;

    private final ExpertPopularity popularity;
    private final long tokens;
    private final long seed;
    private final int runLength;
    private final double sameShare;
    private final long start;
    private final long runStart;
    private final long sameBelow;
    private final int rowMask;
    private final int[] experts; // row after row
    private final long[] ends; // of each expert in its row, in units of the popularity
    private int[] room = new int[0];

    private SyntheticRouting(ExpertPopularity popularity, long tokens, long seed, int runLength, double sameShare) {
        this.popularity = popularity;
        this.tokens = tokens;
        this.seed = seed;
        this.runLength = runLength;
        this.sameShare = sameShare;
        SplittableRandom random = new SplittableRandom(seed);
        start = random.nextLong();
        runStart = random.nextLong();
        sameBelow = Math.round(sameShare * (1 << SHARE_BITS));
        int rows = Integer.highestOneBit(Math.max(1, Math.min(MOST_ROWS, ROOM / popularity.experts())));
        rowMask = rows - 1;
        experts = new int[rows * popularity.experts()];
        ends = new long[experts.length];
        for (int row = 0; row < rows; row++) {
            fillRow(row * popularity.experts(), random);
        }
    }

    private void fillRow(int at, SplittableRandom random) {
        for (int e = 0; e < popularity.experts(); e++) {
            int other = random.nextInt(e + 1); // shuffles while it fills
            experts[at + e] = experts[at + other];
            experts[at + other] = e;
        }
        long end = 0;
        for (int e = 0; e < popularity.experts(); e++) {
            end += popularity.units(experts[at + e]);
            ends[at + e] = end;
        }
    }

    /**
     * Tokens that draw independently of each other.
     *
     * @param popularity of the experts
     * @param tokens T, at least 0
     * @param seed of all draws; layers need different ones
     * @return the source
     * @throws IllegalArgumentException for {@code tokens} other than at least 0
     */
    public static SyntheticRouting of(ExpertPopularity popularity, long tokens, long seed) {
        if (tokens < 0) {
            throw Require.expected("tokens", "at least 0", tokens);
        }
        return new SyntheticRouting(popularity, tokens, seed, 1, 0);
    }

    /**
     * The same load, but tokens that stand together have experts in common, so that a batch needs fewer than of independent ones: of each run
     * of tokens, a share has one and the same draw, and the others their own.
     *
     * @param length tokens of a run, at least 1
     * @param share probability of the common draw, 0..1
     * @return a changed copy
     * @throws IllegalArgumentException for {@code length} below 1 or {@code share} other than 0..1
     */
    public SyntheticRouting withRuns(int length, double share) {
        Require.atLeast("length", length, 1);
        if (!(share >= 0 && share <= 1)) {
            throw Require.expected("share", "0..1", share);
        }
        return new SyntheticRouting(popularity, tokens, seed, length, share);
    }

    @Override
    public int experts() {
        return popularity.experts();
    }

    @Override
    public int topK() {
        return popularity.topK();
    }

    @Override
    public long tokens() {
        return tokens;
    }

    /**
     * The probabilities that are drawn with.
     *
     * @return as given
     */
    public ExpertPopularity popularity() {
        return popularity;
    }

    @Override
    public ChosenExperts block(long from, int count) {
        Objects.checkFromIndexSize(from, (long) count, tokens);
        int numbers = Require.product("count x topK", count, topK());
        if (room.length < numbers) {
            room = new int[numbers];
        }
        int[] into = room;
        for (int t = 0; t < count; t++) {
            draw(bits(from + t), into, t * topK());
        }
        return ChosenExperts.of(experts(), topK(), count, into);
    }

    /** 64 random bits of a token, or of its run. */
    private long bits(long token) {
        long own = mixed(start + token * GOLDEN);
        if (sameBelow == 0 || (own >>> ROW_BITS & (1 << SHARE_BITS) - 1) >= sameBelow) {
            return own;
        }
        return mixed(runStart + token / runLength * GOLDEN);
    }

    /** The finalizer of Java's SplittableRandom (variant 13 of Stafford's). */
    private static long mixed(long bits) {
        long once = (bits ^ bits >>> 30) * 0xBF58476D1CE4E5B9L;
        long twice = (once ^ once >>> 27) * 0x94D049BB133111EBL;
        return twice ^ twice >>> 31;
    }

    /** The upper half of the bits is u, the lowest bits choose the row. */
    private void draw(long bits, int[] into, int at) {
        int expert = (int) (bits & rowMask) * popularity.experts();
        long point = bits >>> Integer.SIZE;
        for (int rank = 0; rank < popularity.topK(); rank++) {
            while (ends[expert] <= point) {
                expert++;
            }
            into[at + rank] = experts[expert];
            point += ExpertPopularity.ONE;
        }
    }

    /** As {@code synthetic: top 8 of 64 experts, coefficient of variation 0.880, seed 7}, for labels and metadata. */
    @Override
    public String toString() {
        String runs = sameShare == 0 ? "" : ", runs of " + runLength + " with a share of " + sameShare + " alike";
        return "synthetic: " + popularity + runs + ", seed " + seed;
    }
}
