package org.moe4j.bench.limits.read;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** The sum of an array, in the vectors that {@link org.moe4j.core.vector.VectorBackend} uses too: no two shapes in one process. */
public final class VectorSum {
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int CHAINS = 4; // so that no addition waits for the one before

    /** Numbers that one call adds up: so many that calling costs nothing, so few that it is soon compiled. */
    public static final int PIECE = 1 << 16;

    private VectorSum() {}

    /**
     * Adds up a piece of an array.
     *
     * @param array at least {@code from + PIECE} numbers
     * @param from first of the piece
     * @return the sum, in an order of its own
     */
    public static float of(float[] array, int from) {
        int lanes = FLOATS.length();
        FloatVector a = FloatVector.zero(FLOATS);
        FloatVector b = a;
        FloatVector c = a;
        FloatVector d = a;
        for (int i = from; i < from + PIECE; i += CHAINS * lanes) {
            a = a.add(FloatVector.fromArray(FLOATS, array, i));
            b = b.add(FloatVector.fromArray(FLOATS, array, i + lanes));
            c = c.add(FloatVector.fromArray(FLOATS, array, i + 2 * lanes));
            d = d.add(FloatVector.fromArray(FLOATS, array, i + 3 * lanes));
        }
        return a.add(b).add(c.add(d)).reduceLanes(VectorOperators.ADD);
    }
}
