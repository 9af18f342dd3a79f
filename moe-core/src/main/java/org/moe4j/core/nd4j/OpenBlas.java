package org.moe4j.core.nd4j;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.bytedeco.openblas.global.openblas_nolapack;
import org.jspecify.annotations.Nullable;

/**
 * The loaded OpenBLAS: how many threads it uses, and which one it is.
 *
 * <p><b>Which library.</b> The presets offer the classes {@code openblas} and {@code openblas_nolapack}; each loads a
 * copy of the same library. On Linux the symbols of the copy that is loaded second bind to those of the first, so that
 * both, and ND4J's native code as well, work with one set of threads and one thread count. ND4J itself multiplies
 * through {@code openblas_nolapack}; so does this package, which loads a small binding and no second library.
 *
 * <p><b>Threads.</b> The kernels run in parallel over experts and blocks, one OpenBLAS thread each: that is faster, and
 * it makes the bits independent of the number of threads. The count is global to the library, hence it is set to one
 * only while a kernel runs and put back afterwards: products that the user computes with ND4J at other times keep
 * their threads.
 */
final class OpenBlas {
    private static final String[] CORES = {
        "SAPPHIRERAPIDS", "COOPERLAKE", "SKYLAKEX", "ZEN", "HASWELL", "EXCAVATOR", "STEAMROLLER", "PILEDRIVER",
        "BULLDOZER", "SANDYBRIDGE", "BARCELONA", "NEHALEM", "CORE2", "PRESCOTT", "NEOVERSEV2", "NEOVERSEV1",
        "NEOVERSEN2", "NEOVERSEN1", "ARMV8SVE", "VORTEX", "CORTEXA57", "ARMV8"
    };

    private static final Set<String> SMALL_KERNELS = Set.of("SAPPHIRERAPIDS", "COOPERLAKE", "SKYLAKEX");

    private static final OpenBlas LIBRARY = new OpenBlas();

    private final @Nullable ThreadCount count;
    private int users;
    private int before = 1;

    private OpenBlas() {
        Loader.load(openblas_nolapack.class);
        Pointer function = Loader.addressof("openblas_set_num_threads_local");
        count = function == null ? null : new ThreadCount(function);
        if (count == null) {
            openblas_nolapack.blas_set_num_threads(1); // an older or another library: once and for all
        }
    }

    /** Runs products, each on the thread that asks for it. */
    static void onOneThreadEach(Runnable products) {
        LIBRARY.enter();
        try {
            products.run();
        } finally {
            LIBRARY.leave();
        }
    }

    private synchronized void enter() {
        if (users++ == 0 && count != null) {
            before = count.call(1);
        }
    }

    private synchronized void leave() {
        if (--users == 0 && count != null && before != 1) {
            int now = count.call(before);
            if (now != 1) {
                count.call(now); // somebody else has changed it meanwhile
            }
        }
    }

    /** {@code int openblas_set_num_threads_local(int)}, which returns the count before; the type fits. */
    private static final class ThreadCount
            extends org.bytedeco.openblas.presets.openblas_nolapack.MklSetNumThreadsLocal {
        ThreadCount(Pointer function) {
            put(function);
        }
    }

    /** Whether the library has kernels for small products on this machine, as it has for vectors of 512 bits. */
    static boolean hasSmallKernels() {
        return SMALL_KERNELS.contains(core());
    }

    /** The processor whose kernels were chosen, in OpenBLAS's words, or {@code unknown}. */
    static String core() {
        Pointer chosen = Loader.addressof("gotoblas");
        Pointer table = chosen == null ? null : new PointerPointer<>(chosen).get(0);
        for (String name : CORES) {
            if (table != null && table.equals(Loader.addressof("gotoblas_" + name))) {
                return name;
            }
        }
        return "unknown";
    }

    static String report() {
        String core = core();
        return version().orElse("unknown BLAS") + ", " + (core.equals("unknown") ? "unknown core" : "core " + core)
                + ", 1 thread per product, " + Runtime.getRuntime().availableProcessors() + " processors";
    }

    /** The version as it is written in the library file that was loaded, not the one of the Java classes beside it. */
    private static Optional<String> version() {
        String file = Loader.getLoadedLibraries().get("openblas_nolapack@.0");
        if (file == null) {
            return Optional.empty();
        }
        Pattern pattern = Pattern.compile("OpenBLAS \\d+\\.\\d+\\.\\d+");
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            byte[] window = new byte[1 << 20];
            int kept = 0;
            for (int read = in.readNBytes(window, 0, window.length); read > 0; ) {
                Matcher match = pattern.matcher(new String(window, 0, kept + read, StandardCharsets.ISO_8859_1));
                if (match.find()) {
                    return Optional.of(match.group());
                }
                kept = Math.min(256, kept + read); // a version may lie across the border of two windows
                System.arraycopy(window, window.length - kept, window, 0, kept);
                read = in.readNBytes(window, kept, window.length - kept);
            }
        } catch (IOException unreadable) {
            return Optional.empty();
        }
        return Optional.empty();
    }
}
