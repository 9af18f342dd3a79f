package org.moe4j.core.vector.tile;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorSpecies;

/** The one shape of vectors of this process: two shapes of one type make the compiler keep vectors on the heap. */
final class Lanes {
    static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    static final VectorSpecies<Short> SHORTS = ShortVector.SPECIES_PREFERRED;

    private Lanes() {}
}
