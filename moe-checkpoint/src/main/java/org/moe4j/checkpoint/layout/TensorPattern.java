package org.moe4j.checkpoint.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.moe4j.core.internal.Require;

/**
 * A tensor that holds a part, or a part of every expert.
 *
 * @param name with {@code {layer}}, and {@code {expert}} where each expert has a tensor of its own
 * @param axes outermost first; none repeats a letter
 * @param encoding of its numbers
 * @param scales name of the tensor of their scales, where the encoding has one
 */
record TensorPattern(String name, List<Axis> axes, Encoding encoding, Optional<String> scales) {
    /** How the numbers of a tensor are stored. */
    enum Encoding {
        /** Each as itself. */
        PLAIN,
        /** Each as itself; if they are of 8 bits, multiplied by the scale of their block of 128×128. */
        BLOCKS,
        /** As MXFP4 of the OCP microscaling specification: 4-bit numbers, 32 of them under one power of two. */
        MXFP4
    }

    /** Numbers in a row and in a column of a block under one scale. */
    static final int BLOCK = 128;

    private static final Pattern NOTATION =
            Pattern.compile("\\s*(\\S+)\\s+\\[([^\\]]*)\\](?:\\s+(scaled-by|mxfp4)\\s+(\\S+))?\\s*");

    /** Reads {@code name [axes]}, {@code name [axes] scaled-by name} or {@code name [axes] mxfp4 name}; {@code +_x} is the name and _x. */
    static TensorPattern parse(String text) {
        Matcher matcher = NOTATION.matcher(text);
        if (!matcher.matches()) {
            throw Require.expected("tensor", "name [axes], and scaled-by name or mxfp4 name", text);
        }
        List<Axis> axes = new ArrayList<>();
        for (String axis : matcher.group(2).split(",", -1)) {
            axes.add(Axis.parse(axis));
        }
        Encoding encoding = matcher.group(3) == null
                ? Encoding.PLAIN
                : matcher.group(3).equals("mxfp4") ? Encoding.MXFP4 : Encoding.BLOCKS;
        Optional<String> scales = Optional.ofNullable(matcher.group(4))
                .map(name -> name.startsWith("+") ? matcher.group(1) + name.substring(1) : name);
        return new TensorPattern(matcher.group(1), List.copyOf(axes), encoding, scales);
    }

    /** Whether each expert has a tensor of its own. */
    boolean perExpert() {
        return name.contains("{expert}");
    }

    /** Name of the values: that of the tensor without what says that it holds their blocks. */
    String valueName() {
        return encoding == Encoding.MXFP4 ? name.replaceFirst("[._]blocks$", "") : name;
    }

    /** A name with its places filled in. */
    static String filled(String name, String prefix, int layer, int expert) {
        return name.replace("{prefix}", prefix)
                .replace("{layer}", Integer.toString(layer))
                .replace("{expert}", Integer.toString(expert));
    }

    /** Whether a tensor has such a name, in any layer and after any beginning. */
    boolean names(String tensor) {
        String[] ends = name.split("\\{prefix\\}", -1);
        if (!tensor.endsWith(name.substring(name.lastIndexOf('}') + 1))) {
            return false; // as most do
        }
        StringBuilder regex = new StringBuilder(ends.length > 1 ? ".*" : "");
        for (String piece : ends[ends.length - 1].split("\\{", -1)) {
            int brace = piece.indexOf('}');
            regex.append(brace < 0 ? "" : "[0-9]+").append(Pattern.quote(piece.substring(brace + 1)));
        }
        return Pattern.matches(regex.toString(), tensor);
    }

    /** The shape of the values, before any encoding. */
    List<Long> shape(Sizes sizes, LayerPart part) {
        return axes.stream()
                .map(axis -> axis.length(sizes.of(axis.letter(), part)))
                .toList();
    }

    /** The shape of the tensor itself: bytes hold two numbers of MXFP4, 16 of them a block. */
    List<Long> storedShape(Sizes sizes, LayerPart part) {
        List<Long> shape = new ArrayList<>(shape(sizes, part));
        if (encoding == Encoding.MXFP4) {
            shape.set(shape.size() - 1, shape.get(shape.size() - 1) / Mxfp4.BLOCK);
            shape.add(Mxfp4.BLOCK / 2L);
        }
        return shape;
    }

    /** The shape of the tensor of the scales, where there is one. */
    List<Long> scalesShape(Sizes sizes, LayerPart part) {
        List<Long> shape = new ArrayList<>(shape(sizes, part));
        int last = shape.size() - 1;
        if (encoding == Encoding.MXFP4) {
            shape.set(last, shape.get(last) / Mxfp4.BLOCK);
        } else {
            shape.set(last, blocks(shape.get(last)));
            shape.set(last - 1, blocks(shape.get(last - 1)));
        }
        return shape;
    }

    static long blocks(long size) {
        return (size + BLOCK - 1) / BLOCK;
    }

    /** What its sizes are, as {@code experts x 2 intermediateSize x hiddenSize}. */
    String words(LayerPart part) {
        return axes.stream().map(axis -> axis.words(part)).collect(Collectors.joining(" x "));
    }

    /** Where the matrix of a part, of one expert where it has one, stands among the values. */
    Strides strides(Sizes sizes, LayerPart part, int expert) {
        long offset = 0;
        long ofRows = 0;
        long ofColumns = 0;
        long stride = 1;
        for (int i = axes.size() - 1; i >= 0; i--) {
            Axis axis = axes.get(i);
            int own = sizes.of(axis.letter(), part);
            offset += axis.first(own) * stride;
            if (axis.letter() == part.rows()) {
                ofRows = axis.step() * stride;
            } else if (axis.letter() == part.columns()) {
                ofColumns = axis.step() * stride;
            } else if (axis.letter() == 'E') {
                offset += expert * stride;
            }
            stride *= axis.length(own);
        }
        return new Strides(offset, ofRows, ofColumns);
    }

    /**
     * Element (i, j) of a matrix is value {@code offset + i·rows + j·columns} of its tensor.
     *
     * @param offset of the first
     * @param rows from a row to the next
     * @param columns from a column to the next
     */
    record Strides(long offset, long rows, long columns) {}
}
