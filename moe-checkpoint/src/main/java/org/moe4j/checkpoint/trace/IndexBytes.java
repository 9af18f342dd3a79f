package org.moe4j.checkpoint.trace;

import java.nio.ByteBuffer;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

/** The experts of tokens as bytes of a tensor [T, K]. */
record IndexBytes(String layer, RoutingSource source, ElementType type) implements TensorContent.Source {
    private static final int TYPES_LARGEST_BITS = 31;

    /** The shortest type that holds 0..E−1. */
    static ElementType narrowest(int experts) {
        if (experts <= largest(ElementType.U8)) {
            return ElementType.U8;
        }
        return experts <= largest(ElementType.I16) ? ElementType.I16 : ElementType.I32;
    }

    /** How many experts a type has numbers for. */
    static int largest(ElementType type) {
        if (!TraceFormat.WRITTEN.contains(type)) {
            throw Require.expected("type", "one of " + TraceFormat.WRITTEN, type);
        }
        int bits = Byte.SIZE * type.bytes() - (type == ElementType.U8 ? 0 : 1);
        return bits >= TYPES_LARGEST_BITS ? Integer.MAX_VALUE : 1 << bits;
    }

    @Override
    public void write(long from, int count, ByteBuffer into) {
        TensorContent.Source.check(type, from, count, into);
        int topK = source.topK();
        long token = from / topK;
        int skip = (int) (from % topK);
        int tokens = (int) ((from + count + topK - 1) / topK - token);
        ChosenExperts block = source.block(token, tokens);
        if (block.slots() != tokens * topK) {
            throw Require.expected(
                    "layer " + layer,
                    topK + " experts for each token, as a file has them",
                    block.slots() + " for " + tokens + " tokens");
        }
        switch (type) {
            case U8, I8 -> {
                for (int i = 0; i < count; i++) {
                    into.put((byte) block.expert(skip + i));
                }
            }
            case I16 -> {
                for (int i = 0; i < count; i++) {
                    into.putShort((short) block.expert(skip + i));
                }
            }
            case I32 -> {
                for (int i = 0; i < count; i++) {
                    into.putInt(block.expert(skip + i));
                }
            }
            default -> {
                for (int i = 0; i < count; i++) {
                    into.putLong(block.expert(skip + i));
                }
            }
        }
    }
}
