package org.moe4j.bench.hostile;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What came of all calls. The call that runs stands in a mapped file, where it is found after a crash; one that runs for too long ends the
 * process.
 */
final class Findings {
    private static final int LONGEST = 1000;

    private final Path report;
    private final MappedByteBuffer running;
    private final Map<String, String> faults = new LinkedHashMap<>();
    private final Map<String, Integer> outcomes = new TreeMap<>();
    private final Set<String> reached = new TreeSet<>();
    private final Thread caller = Thread.currentThread();
    private volatile long since;
    private long slowest;
    private String slowestCall = "";
    private int calls;

    /**
     * No calls yet.
     *
     * @param report file to be written
     * @param limit seconds that a call may take
     * @throws IOException when files cannot be written
     */
    Findings(Path report, int limit) throws IOException {
        this.report = report;
        try (FileChannel channel = FileChannel.open(
                running(report), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            running = channel.map(MapMode.READ_WRITE, 0, LONGEST);
        }
        Thread watch = new Thread(() -> watch(limit * 1_000_000_000L), "watch");
        watch.setDaemon(true);
        watch.start();
    }

    static Path running(Path report) {
        return report.resolveSibling("running.txt");
    }

    private void watch(long limit) {
        while (true) {
            try {
                Thread.sleep(200);
            } catch (InterruptedException e) {
                return;
            }
            long begun = since;
            if (begun != 0 && System.nanoTime() - begun > limit) {
                faults.put(
                        "hang",
                        "hang: "
                                + Arrays.stream(caller.getStackTrace())
                                        .limit(12)
                                        .map(StackTraceElement::toString)
                                        .collect(Collectors.joining(" < ")));
                write();
                Runtime.getRuntime().halt(3);
            }
        }
    }

    void begin(Executable executable, Object[] places) {
        calls++;
        byte[] text = describe(executable, places).getBytes(StandardCharsets.UTF_8);
        running.put(0, Arrays.copyOf(text, LONGEST));
        since = System.nanoTime();
    }

    void end() {
        long took = System.nanoTime() - since;
        since = 0;
        if (took > slowest) {
            slowest = took;
            byte[] text = new byte[LONGEST];
            running.get(0, text);
            slowestCall = new String(text, StandardCharsets.UTF_8).trim();
        }
    }

    void returned() {
        outcomes.merge("returned", 1, Integer::sum);
    }

    void refused(Throwable thrown) {
        outcomes.merge(thrown.getClass().getSimpleName(), 1, Integer::sum);
    }

    void notCalled() {
        calls--;
    }

    boolean hasReached(Executable executable) {
        return reached.contains(executable.toString());
    }

    void reached(Set<Executable> executables) {
        executables.forEach(executable -> reached.add(executable.toString()));
    }

    void fault(String what, Executable executable, Object[] places, Optional<Throwable> thrown) {
        String exception = thrown.map(Findings::describe).orElse("");
        String key = what
                + executable.getDeclaringClass()
                + executable.getName()
                + thrown.map(Findings::where).orElse("");
        faults.putIfAbsent(key, what + ": " + describe(executable, places) + " -> " + exception);
    }

    private static String where(Throwable thrown) {
        return thrown.getClass().getName() + " "
                + Arrays.stream(thrown.getStackTrace())
                        .filter(frame -> frame.getClassName().startsWith("org.moe4j."))
                        .limit(3)
                        .map(frame -> frame.getFileName() + ":" + frame.getLineNumber())
                        .collect(Collectors.joining(" < "));
    }

    private static String describe(Throwable thrown) {
        return shortened(String.valueOf(thrown.getMessage())) + " at " + where(thrown);
    }

    private static String describe(Executable executable, Object[] places) {
        StringBuilder text =
                new StringBuilder(executable.getDeclaringClass().getSimpleName() + "." + executable.getName() + "(");
        for (int i = places[0] == null ? 1 : 0; i < places.length; i++) {
            text.append(i > 1 ? ", " : "").append(describe(places[i])).append(i == 0 ? "; " : "");
        }
        return text.append(')').toString();
    }

    private static String describe(Object value) {
        if (value == null
                || value instanceof Number
                || value instanceof CharSequence
                || value instanceof Enum<?>
                || value instanceof Path) {
            return shortened(String.valueOf(value));
        } else if (value.getClass().isArray()) {
            int length = Array.getLength(value);
            List<String> elements = new ArrayList<>();
            for (int i = 0; i < Math.min(length, 8); i++) {
                elements.add(describe(Array.get(value, i)));
            }
            return elements + (length > 8 ? "#" + length : "");
        } else if (value instanceof Collection<?> several) {
            return several.stream().limit(4).map(Findings::describe).toList()
                    + (several.size() > 4 ? "#" + several.size() : "");
        }
        try {
            return shortened(value.toString());
        } catch (RuntimeException closed) {
            return value.getClass().getSimpleName();
        }
    }

    private static String shortened(String text) {
        String line = text.replace("\n", "\\n").replace("\0", "\\0");
        return line.length() > 160 ? line.substring(0, 160) + "…" : line;
    }

    /** Writes the report: a line for each number, for all that was reached, and for each fault. */
    void write() {
        try (PrintStream out = new PrintStream(Files.newOutputStream(report), false, StandardCharsets.UTF_8)) {
            out.println("calls\t" + calls);
            out.println("outcomes\t" + outcomes);
            out.println("slowest\t" + slowest / 1_000_000 + " ms\t" + slowestCall);
            reached.forEach(executable -> out.println("reached\t" + executable));
            faults.values().forEach(fault -> out.println("fault\t" + fault));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
