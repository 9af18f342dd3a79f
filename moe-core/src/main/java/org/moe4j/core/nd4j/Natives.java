package org.moe4j.core.nd4j;

import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.openblas.global.openblas_nolapack;

/** Loads the native libraries of the host strategy, once and before any work. */
final class Natives {
    /** The first failure: later ones only say that a class is not initialized. */
    private static final AtomicReference<String> MISSING = new AtomicReference<>("");

    private Natives() {}

    /**
     * Unpacking a library into JavaCPP's cache fails for good on an interrupted thread, so that the interruption is put
     * off until the libraries are there.
     */
    static void load() {
        boolean interrupted = Thread.interrupted();
        try {
            Loader.load(openblas_nolapack.class);
            Loader.addressof("openblas_get_config"); // which JavaCPP 1.5.7, that ND4J brings, does not have as a method
            // Linked by a first call, for which the JVM needs memory: later the Java heap may be full when a block has
            // to go back.
            Pointer.free(Pointer.malloc(1));
        } catch (LinkageError missing) { // a class, a method of another release, or the library
            MISSING.compareAndSet("", missing.toString());
            throw new IllegalStateException(
                    "natives: expected org.bytedeco:javacpp and org.bytedeco:openblas of one release, each also with this"
                            + " platform's classifier, on the class path but was " + MISSING.get()
                            + "; org.moe4j:moe-bom manages their versions",
                    missing);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
