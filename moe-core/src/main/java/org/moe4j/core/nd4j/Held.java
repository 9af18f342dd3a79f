package org.moe4j.core.nd4j;

/** Something that lives as long as it is held by at least one holder. */
interface Held {
    /** Holds it once more; false when nobody holds it any longer and it is gone. */
    boolean retain();

    /** Lets go once; {@code byCollector} says that the holder was forgotten and not closed. */
    void release(boolean byCollector);
}
