package org.moe4j.bench.hostile;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Optional;
import java.util.Set;

/** One call: what came of it, and whether its arguments are what they were. */
final class Caller {
    /** Names of arguments that are documented to be written to. */
    private static final Set<String> WRITTEN = Set.of("into", "dLogits");

    private final Findings findings;

    Caller(Findings findings) {
        this.findings = findings;
    }

    /**
     * What came of a call.
     *
     * @param returned whether it did
     * @param value what it returned, if anything
     */
    record Outcome(boolean returned, Object value) {}

    /**
     * Calls, judges what is thrown, and compares the arguments.
     *
     * @param executable what to call
     * @param places its receiver, if it has one, then its arguments
     * @return what came of it
     */
    Outcome call(Executable executable, Object[] places) {
        int[] before = fingerprints(executable, places);
        Object[] arguments = Arrays.copyOfRange(places, 1, places.length);
        findings.begin(executable, places);
        try {
            Object value = executable instanceof Constructor<?> constructor
                    ? constructor.newInstance(arguments)
                    : ((Method) executable).invoke(places[0], arguments);
            findings.returned();
            unchanged(executable, places, before);
            return new Outcome(true, value);
        } catch (InvocationTargetException e) {
            findings.refused(e.getCause());
            Verdict.fault(e.getCause(), Verdict.holdsNull(places[0] == null ? arguments : places))
                    .ifPresent(fault -> findings.fault(fault, executable, places, Optional.of(e.getCause())));
            unchanged(executable, places, before);
        } catch (IllegalArgumentException | ReflectiveOperationException | NullPointerException notCalled) {
            findings.notCalled();
        } finally {
            findings.end();
        }
        return new Outcome(false, null);
    }

    /** Closing is never refused. */
    void close(AutoCloseable closable) {
        try {
            Method close = closable.getClass().getMethod("close");
            findings.begin(close, new Object[] {closable});
            closable.close();
            findings.returned();
        } catch (Exception e) {
            try {
                findings.fault(
                        "close refused",
                        AutoCloseable.class.getMethod("close"),
                        new Object[] {closable},
                        Optional.of(e));
            } catch (NoSuchMethodException impossible) {
                throw new IllegalStateException(impossible);
            }
        } finally {
            findings.end();
        }
    }

    private static int[] fingerprints(Executable executable, Object[] places) {
        Set<Object> written = Collections.newSetFromMap(new IdentityHashMap<>()); // the same array may be given twice
        for (int i = 0; i < places.length; i++) {
            if (written(executable, i)) {
                written.add(places[i]);
            }
        }
        int[] hashes = new int[places.length];
        for (int i = 0; i < places.length; i++) {
            if (!written.contains(places[i])) {
                hashes[i] = Fingerprint.of(places[i]);
            }
        }
        return hashes;
    }

    private static boolean written(Executable executable, int place) {
        return place == 0
                ? executable.getName().equals("addInto") // gives up what it added
                : WRITTEN.contains(executable.getParameters()[place - 1].getName());
    }

    private void unchanged(Executable executable, Object[] places, int[] before) {
        int[] after = fingerprints(executable, places);
        for (int i = 0; i < after.length; i++) {
            if (after[i] != before[i]) {
                String what = i == 0 ? "receiver" : executable.getParameters()[i - 1].getName();
                findings.fault("changed " + what, executable, places, Optional.empty());
            }
        }
    }
}
