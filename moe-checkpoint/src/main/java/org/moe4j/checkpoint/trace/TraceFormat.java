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
    static final Set<ElementType> INTEGERS =
            EnumSet.of(ElementType.I64, ElementType.I32, ElementType.I16, ElementType.I8, ElementType.U8);

    /** Far more than any model has; against files that are made to exhaust memory. */
    static final int MOST_EXPERTS = 1 << 16;

    static final int MOST_LAYERS = 1 << 12;

    private static final Pattern LAYER = Pattern.compile("[A-Za-z0-9_.\\-]{1,100}");
    private static final Pattern NUMBER = Pattern.compile("[0-9]+");
    private static final int LONGEST_SHOWN = 100;

    private TraceFormat() {}

    static boolean isLayer(String name) {
        return LAYER.matcher(name).matches();
    }

    /** By number when all are numbers, else by their letters. */
    static List<String> sorted(Collection<String> layers) {
        Comparator<String> byLetters = Comparator.naturalOrder();
        boolean numbers = layers.stream().allMatch(name -> NUMBER.matcher(name).matches());
        return layers.stream()
                .sorted(
                        numbers
                                ? Comparator.comparing((String name) -> new BigInteger(name))
                                        .thenComparing(byLetters)
                                : byLetters)
                .toList();
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
