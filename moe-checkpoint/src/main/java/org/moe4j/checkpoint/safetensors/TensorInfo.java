package org.moe4j.checkpoint.safetensors;

import java.util.List;

/**
 * What a header says of a tensor.
 *
 * @param name in the file
 * @param type of its numbers
 * @param shape sizes, outermost first; empty for a single number
 * @param begin first byte, counted from the end of the header
 * @param end the byte after the last
 */
public record TensorInfo(String name, ElementType type, List<Long> shape, long begin, long end) {
    /**
     * Copies the shape.
     *
     * @param name in the file
     * @param type of its numbers
     * @param shape sizes, outermost first; empty for a single number
     * @param begin first byte, counted from the end of the header
     * @param end the byte after the last
     */
    public TensorInfo {
        shape = List.copyOf(shape);
    }

    /**
     * How many numbers it has.
     *
     * @return the product of its sizes
     */
    public long elements() {
        return (end - begin) / type.bytes();
    }

    /** As {@code model.norm.weight BF16 [2048]}. */
    @Override
    public String toString() {
        return name + " " + type + " " + shape;
    }
}
