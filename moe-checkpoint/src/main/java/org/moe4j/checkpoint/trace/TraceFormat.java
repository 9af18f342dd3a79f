package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.moe4j.checkpoint.safetensors.ElementType;

/** Names, types and bounds of traces in files. */
final class TraceFormat {
    static final String LOGITS = "router_logits";
    static final String INDICES = "topk_index";
    static final String WEIGHTS = "topk_weight";
    static final String MASK = "mask";
    static final String EXPERTS_KEY = "moe4j.experts";

    /** Name of the layer in a file of one layer that has none. */
    static final String ONLY_LAYER = "0";

    static final Set<ElementType> FLOATS =
            EnumSet.of(ElementType.F64, ElementType.F32, ElementType.F16, ElementType.BF16);
    /** What indices are written as. */
    static final Set<ElementType> WRITTEN =
            EnumSet.of(ElementType.I64, ElementType.I32, ElementType.I16, ElementType.I8, ElementType.U8);

    /** What indices and marks may be stored as. */
    static final Set<ElementType> INTEGERS = EnumSet.range(ElementType.I64, ElementType.U64);

    /** Far more than any model has; against files that are made to exhaust memory. */
    static final int MOST_EXPERTS = 1 << 16;

    static final int MOST_LAYERS = 1 << 12;

    private static final Pattern LAYER = Pattern.compile("[A-Za-z0-9_.\\-]{1,100}");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+");
    private static final Pattern BETWEEN_RUNS = Pattern.compile("(?<=[0-9])(?=[^0-9])|(?<=[^0-9])(?=[0-9])");
    private static final int LONGEST_SHOWN = 100;

    private TraceFormat() {}

    static boolean isLayer(String name) {
        return LAYER.matcher(name).matches();
    }

    /** Runs of digits by number, all else by its letters: "model.layers.9" before "model.layers.10". */
    static List<String> sorted(Collection<String> layers) {
        return layers.stream()
                .sorted(Comparator.comparing(TraceFormat::runs, TraceFormat::compare)
                        .thenComparing(Comparator.naturalOrder()))
                .toList();
    }

    /** What stands between numbers, and the numbers, in turns. */
    private static List<String> runs(String name) {
        return List.of(BETWEEN_RUNS.split(name));
    }

    private static int compare(List<String> one, List<String> other) {
        for (int i = 0; i < Math.min(one.size(), other.size()); i++) {
            String own = one.get(i);
            String its = other.get(i);
            boolean numbers =
                    NUMBER.matcher(own).matches() && NUMBER.matcher(its).matches();
            int order = numbers ? new BigInteger(own).compareTo(new BigInteger(its)) : own.compareTo(its);
            if (order != 0) {
                return order;
            }
        }
        return Integer.compare(one.size(), other.size());
    }

    static IOException wrong(Path file, String part, String expected, Object was) {
        return new IOException(
                file + ": " + shown(part) + ": expected " + expected + " but was " + shown(was.toString()));
    }

    /** Text of a file in a message. */
    private static String shown(String text) {
        String line = text.codePoints()
                .limit(LONGEST_SHOWN)
                .map(c -> c < ' ' || c > '~' ? '?' : c)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
        return text.length() > LONGEST_SHOWN ? line + "…" : line;
    }
}
