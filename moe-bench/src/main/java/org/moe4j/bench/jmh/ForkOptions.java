package org.moe4j.bench.jmh;

/** Options of the JVMs that measure. */
final class ForkOptions {
    /** For {@link org.moe4j.core.vector.VectorBackend}. */
    static final String MODULE = "--add-modules=jdk.incubator.vector";

    /** The next option is known on Linux only. */
    static final String IF_KNOWN = "-XX:+IgnoreUnrecognizedVMOptions";

    /** Fewer misses where weights are read once and in order. */
    static final String HUGE_PAGES = "-XX:+UseTransparentHugePages";

    private ForkOptions() {}
}
