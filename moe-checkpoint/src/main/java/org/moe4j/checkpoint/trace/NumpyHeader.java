package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorInfo;

/**
 * What stands before the numbers of an array that NumPy saved: a Python dictionary of {@code descr}, {@code fortran_order} and
 * {@code shape}. Only plain numbers in C order, the last byte of a number last, are known here.
 *
 * @see <a href="https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html">The format</a>
 */
final class NumpyHeader {
    static final String PART = "array";

    private static final Pattern ENTRY = Pattern.compile("\\s*+(?:'(\\w++)'|\"(\\w++)\")\\s*+:\\s*+"
            + "('[^']*+'|\"[^\"]*+\"|True|False|\\([0-9,\\s]*+\\)|\\[.*+)\\s*+(,?)\\s*+");
    private static final Pattern SIZE = Pattern.compile("\\s*+([0-9]{1,18})\\s*+");
    private static final Map<String, ElementType> TYPES = Map.ofEntries(
            Map.entry("<f8", ElementType.F64),
            Map.entry("<f4", ElementType.F32),
            Map.entry("<f2", ElementType.F16),
            Map.entry("<i8", ElementType.I64),
            Map.entry("<i4", ElementType.I32),
            Map.entry("<i2", ElementType.I16),
            Map.entry("|i1", ElementType.I8),
            Map.entry("|u1", ElementType.U8),
            Map.entry("<u2", ElementType.U16),
            Map.entry("<u4", ElementType.U32),
            Map.entry("<u8", ElementType.U64),
            Map.entry("|b1", ElementType.BOOL));

    private final Path file;
    private final Map<String, String> entries = new HashMap<>();

    private NumpyHeader(Path file) {
        this.file = file;
    }

    /** Type, shape and size of the numbers, which stand from byte 0 behind the header on. */
    static TensorInfo parse(Path file, String text) throws IOException {
        NumpyHeader header = new NumpyHeader(file);
        header.readEntries(text);
        List<Long> shape = header.shape();
        ElementType type = header.type();
        if (!header.entry("fortran_order").equals("False")) {
            throw TraceFormat.wrong(file, PART, "C order", "Fortran order; save numpy.ascontiguousarray(array)");
        }
        long bytes = type.bytes();
        try {
            for (long size : shape) {
                bytes = Math.multiplyExact(bytes, size);
            }
        } catch (ArithmeticException e) {
            throw TraceFormat.wrong(file, PART, "a shape whose bytes can be counted", shape);
        }
        return new TensorInfo(PART, type, shape, 0, bytes);
    }

    private void readEntries(String text) throws IOException {
        String body = text.strip();
        if (body.length() < 2 || body.charAt(0) != '{' || body.charAt(body.length() - 1) != '}') {
            throw broken(body);
        }
        Matcher matcher = ENTRY.matcher(body).region(1, body.length() - 1);
        boolean more = true;
        while (matcher.regionStart() < body.length() - 1) {
            if (!more || !matcher.lookingAt()) {
                throw broken(body.substring(matcher.regionStart()));
            }
            if (matcher.group(3).startsWith("[")) {
                throw TraceFormat.wrong(file, PART, "numbers of one type", "a structured type");
            }
            String key = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
            if (entries.put(key, matcher.group(3)) != null) {
                throw TraceFormat.wrong(file, "header", "different keys", key + " twice");
            }
            more = !matcher.group(4).isEmpty();
            matcher.region(matcher.end(), body.length() - 1);
        }
        for (String key : entries.keySet()) {
            if (!List.of("descr", "fortran_order", "shape").contains(key)) {
                throw TraceFormat.wrong(file, "header", "the keys descr, fortran_order and shape", key);
            }
        }
    }

    private IOException broken(String rest) {
        return TraceFormat.wrong(file, "header", "a Python dictionary of descr, fortran_order and shape", rest);
    }

    private String entry(String key) throws IOException {
        String value = entries.get(key);
        if (value == null) {
            throw TraceFormat.wrong(file, "header", "the key " + key, "absent");
        }
        return value;
    }

    private ElementType type() throws IOException {
        String quoted = entry("descr");
        String descr = quoted.substring(1, quoted.length() - 1);
        ElementType type = TYPES.get(descr);
        if (type != null) {
            return type;
        }
        if (descr.contains("O")) {
            throw TraceFormat.wrong(file, PART, "numbers", "Python objects (" + descr + "), which are a pickle");
        }
        String hint = descr.startsWith(">") ? "; save it with its type's newbyteorder('<')" : "";
        throw TraceFormat.wrong(
                file,
                PART,
                "one of the types " + TYPES.keySet().stream().sorted().toList(),
                quoted + hint);
    }

    private List<Long> shape() throws IOException {
        String tuple = entry("shape");
        if (!tuple.startsWith("(")) {
            throw TraceFormat.wrong(file, "header", "a tuple of sizes as shape", tuple);
        }
        List<Long> shape = new ArrayList<>();
        String inner = tuple.substring(1, tuple.length() - 1).strip();
        if (inner.length() > 1 && inner.endsWith(",")) {
            inner = inner.substring(0, inner.length() - 1);
        }
        for (String size : inner.isEmpty() ? new String[0] : inner.split(",", -1)) {
            Matcher matcher = SIZE.matcher(size);
            if (!matcher.matches()) {
                throw TraceFormat.wrong(file, "header", "a tuple of sizes as shape", tuple);
            }
            shape.add(Long.parseLong(matcher.group(1)));
        }
        return shape;
    }
}
