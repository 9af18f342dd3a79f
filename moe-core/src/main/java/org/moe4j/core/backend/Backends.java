package org.moe4j.core.backend;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.ServiceLoader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds a backend without naming its class: the fastest that can run here, or one by its name.
 *
 * <p>Backends are found by {@link ServiceLoader}: whoever writes one lists a {@link Provider} on the class path.
 */
public final class Backends {
    private static final Logger LOG = LoggerFactory.getLogger(Backends.class);

    private Backends() {}

    /** The number type of a backend's matrices. */
    public enum Precision {
        /** Single precision, unit roundoff 2⁻²⁴. */
        FLOAT32,
        /** Double precision, unit roundoff 2⁻⁵³. */
        FLOAT64
    }

    /** A kind of backend, for {@link ServiceLoader}. It may be asked for all of this where the backend cannot run. */
    public interface Provider {
        /**
         * What it is called by {@link #named}.
         *
         * @return a word in small letters
         */
        String name();

        /**
         * When {@link #best} tries it.
         *
         * @return the smallest number first; without one, it is had by its name only
         */
        OptionalInt rank();

        /**
         * Why it cannot run in this JVM.
         *
         * @return {@code expected X but was Y; what to do}, or empty when it can
         */
        Optional<String> obstacle();

        /**
         * What it computes with here, for the line of the log that says it was chosen: kernels, threads, versions.
         *
         * @return a few words, or empty, as by default, for its name alone
         */
        default Optional<String> details() {
            return Optional.empty();
        }

        /**
         * Makes a backend; asked only when nothing is in the way.
         *
         * @param precision number type, or at least as precise as
         * @return a backend that uses all processors
         */
        Backend create(Precision precision);
    }

    /** Decided, and said, once in a process. */
    private static final class Found {
        static final KnownBackends ALL =
                KnownBackends.of(ServiceLoader.load(Provider.class, Backends.class.getClassLoader()).stream()
                        .map(ServiceLoader.Provider::get));
        static final KnownBackends.Choice BEST = said(ALL.best());

        private Found() {}

        private static KnownBackends.Choice said(KnownBackends.Choice best) {
            if (best.provider().isPresent() && LOG.isInfoEnabled()) {
                LOG.info("{}", best);
            }
            return best;
        }
    }

    /**
     * The fastest backend that can run here, in single precision.
     *
     * @return a backend that uses all processors
     * @throws IllegalStateException when none can; the message says what each of them lacks
     */
    public static Backend best() {
        return best(Precision.FLOAT32);
    }

    /**
     * The fastest backend that can run here: that on Java's Vector API where the JVM has its module, else that on OpenBLAS where its
     * natives are on the class path. Which one it is, is decided once in a process and said once to the log, in one line of level INFO, with its
     * kernels, the processors, and the versions of what it stands on. The reference is never chosen: it is had by its name.
     *
     * @param precision number type
     * @return a backend that uses all processors
     * @throws IllegalStateException when none can; the message says what each of them lacks
     */
    public static Backend best(Precision precision) {
        return Found.BEST.create(precision);
    }

    /**
     * A backend by its name.
     *
     * @param name {@code vector}, {@code nd4j} or {@code reference}, which computes in double whatever the precision
     * @param precision number type
     * @return a backend that uses all processors
     * @throws java.util.NoSuchElementException for an unknown name; the message lists the known ones
     * @throws IllegalStateException when it cannot run here; the message says what it lacks
     */
    public static Backend named(String name, Precision precision) {
        return Found.ALL.named(name).create(precision);
    }
}
