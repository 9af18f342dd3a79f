package org.moe4j.core.vector;

import org.moe4j.core.host.Machine;
import org.moe4j.core.vector.tile.Shapes;

/** What a line of the log says about the vectors of this process. */
final class Vectors {
    private Vectors() {}

    static String length() {
        return "vectors of " + Shapes.FLOAT_PANEL / 2 * Float.SIZE + " bits";
    }

    /** CPU, vectors and JVM. */
    static String machine() {
        return Machine.cpu() + " with " + length() + ", " + Machine.jvm();
    }

    /** For the line of the log that says which backend was chosen. */
    static String details() {
        return length() + ", " + Runtime.getRuntime().availableProcessors() + " processors, " + Machine.moe4j() + ", "
                + Machine.jvm() + ", " + Machine.cpu();
    }
}
