package org.moe4j.checkpoint.layout;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** Tensors of 8 bits under scales of blocks, wherever they stand in a checkpoint. */
public final class EightBits {
    private static final String SCALES = "_scale_inv";

    private EightBits() {}

    /**
     * Whether a tensor is of this kind.
     *
     * @param tensor of a header
     * @return whether its numbers have 8 bits
     */
    public static boolean isOne(TensorInfo tensor) {
        return LayerSearch.EIGHT_BITS.contains(tensor.type());
    }

    /**
     * The tensor whose scales a tensor has.
     *
     * @param store of a checkpoint
     * @param name of any tensor of it
     * @return the name of a tensor of 8 bits; empty where it holds something else
     * @throws IOException when a file cannot be read
     */
    public static Optional<String> scaled(TensorStore store, String name) throws IOException {
        if (!name.endsWith(SCALES)) {
            return Optional.empty();
        }
        String scaled = name.substring(0, name.length() - SCALES.length());
        return store.names().contains(scaled) && isOne(store.info(scaled)) ? Optional.of(scaled) : Optional.empty();
    }

    /**
     * The numbers that a tensor of 8 bits means.
     *
     * @param store of a checkpoint
     * @param name of a tensor of 8 bits and two sizes or more
     * @return products of the stored numbers and the scales of their blocks
     * @throws IOException when it has no scales of the right shape
     */
    public static Numbers numbers(TensorStore store, String name) throws IOException {
        StoredTensor tensor = store.tensor(name);
        List<Long> shape = tensor.info().shape();
        int last = shape.size() - 1;
        List<Long> wanted = List.of();
        if (last >= 1) {
            wanted = new ArrayList<>(shape);
            wanted.set(last, TensorPattern.blocks(shape.get(last)));
            wanted.set(last - 1, TensorPattern.blocks(shape.get(last - 1)));
        }
        if (last < 1
                || !store.names().contains(name + SCALES)
                || !store.info(name + SCALES).shape().equals(wanted)) {
            throw new IOException(store.folder() + ": " + name + ": expected scales of blocks of " + TensorPattern.BLOCK
                    + " x " + TensorPattern.BLOCK + " beside it but was "
                    + tensor.info().type() + " " + shape
                    + " without them");
        }
        Values values = Values.blocks(
                tensor,
                store.tensor(name + SCALES),
                Math.toIntExact(shape.get(last - 1)),
                Math.toIntExact(shape.get(last)),
                TensorPattern.BLOCK);
        return values::read;
    }
}
