package org.moe4j.core.nd4j;

import java.util.Optional;
import java.util.Set;
import org.bytedeco.javacpp.Loader;
import org.moe4j.core.host.Machine;
import org.moe4j.core.host.Verdict;
import org.moe4j.core.host.Workers;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the host strategy multiplies with: OpenBLAS, or Java where {@link BlasCheck} finds OpenBLAS wrong. Decided once in a process,
 * before the first backend, and said to the log when there is something to say.
 */
final class CheckedBlas {
    private static final Logger LOG = LoggerFactory.getLogger(CheckedBlas.class);
    private static final Set<String> GENERAL = Set.of("BARCELONA", "NEHALEM", "CORE2", "PRESCOTT", "ARMV8", "unknown");
    private static final Verdict VERDICT = new Verdict(() -> said(BlasCheck.all(new Workers(2))));

    private CheckedBlas() {}

    static Blas of(Elements elements) {
        if (fault().isPresent()) {
            return new JavaBlas(elements);
        }
        return elements.bytes() == Float.BYTES ? new FloatBlas() : new DoubleBlas();
    }

    /** What is wrong with OpenBLAS here; empty when nothing is. Loads it and, the first time, checks it. */
    static Optional<String> fault() {
        Natives.load();
        return VERDICT.fault();
    }

    private static Optional<String> said(Optional<String> fault) {
        fault.ifPresentOrElse(
                what -> LOG.warn("{}", warning(what)),
                () -> hint(OpenBlas.core(), Machine.abilities().contains("avx2"))
                        .ifPresent(line -> LOG.info("{}", line)));
        return fault;
    }

    static String warning(String fault) {
        return "Nd4jBackend multiplies by Java loops, many times slower: OpenBLAS is wrong here (" + fault + "), on "
                + Machine.cpu() + ", " + libraries()
                + "; set OPENBLAS_CORETYPE to other kernels (such as Haswell) before"
                + " the JVM starts, or put another version of org.bytedeco:openblas on the class path, and report this line";
    }

    /** What to say about a core that OpenBLAS takes for processors that it does not know. */
    static Optional<String> hint(String core, boolean avx2) {
        boolean arm = core.startsWith("ARM");
        return GENERAL.contains(core) && (avx2 || arm)
                ? Optional.of(
                        "OpenBLAS has chosen kernels for older processors (" + core + ") on " + Machine.cpu() + ", "
                                + libraries() + "; where they are slow, set OPENBLAS_CORETYPE to "
                                + (arm ? "a core of your processor" : "Haswell")
                                + " before the JVM starts, or put a newer version"
                                + " of org.bytedeco:openblas on the class path")
                : Optional.empty();
    }

    /** Versions of all that a product stands on. */
    static String libraries() {
        return OpenBlas.report() + ", JavaCPP " + Machine.version(Loader.class, "org.bytedeco", "javacpp") + ", ND4J "
                + Machine.version(INDArray.class, "org.nd4j", "nd4j-api") + ", " + Machine.moe4j() + ", "
                + Machine.jvm();
    }

    /** For the line of the log that says which backend was chosen. */
    static String details() {
        String products = fault().isPresent() ? "products by Java loops, as those are wrong of " : "";
        return products + libraries() + ", " + Machine.cpu();
    }
}
