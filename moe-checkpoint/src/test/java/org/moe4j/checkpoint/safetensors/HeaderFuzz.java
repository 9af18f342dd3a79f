package org.moe4j.checkpoint.safetensors;

import com.sun.management.ThreadMXBean;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * What Jazzer calls with each input: the first byte says how many bytes of data there are, the rest is the header; from 128 on the
 * rest is the whole file, with a length of its own.
 */
public final class HeaderFuzz {
    private static final int WHOLE = 128;
    private static final long MOST_ALLOCATED = 1 << 20;
    private static final ThreadMXBean JVM = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private HeaderFuzz() {}

    /**
     * Reads a header, which has to be right or refused.
     *
     * @param input any bytes
     * @throws IOException other than for a file that breaks the format, which is a fault
     */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
        if (input.length == 0) {
            return;
        }
        int first = Byte.toUnsignedInt(input[0]);
        byte[] file = Arrays.copyOfRange(input, 1, input.length);
        if (first < WHOLE) {
            file = ByteBuffer.allocate(Long.BYTES + file.length + first)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(file.length)
                    .put(file)
                    .array();
        }
        if (allocatedBy(file) > MOST_ALLOCATED) {
            // the first time may have loaded classes, which the fuzzer rewrites
            long allocated = allocatedBy(file);
            require(allocated <= MOST_ALLOCATED, "little memory: " + allocated + " bytes");
        }
    }

    private static long allocatedBy(byte[] file) throws IOException {
        long before = JVM.getCurrentThreadAllocatedBytes();
        try {
            check(Header.read("fuzz", new ByteArrayInputStream(file), file.length), file.length);
        } catch (SafetensorsFormatException e) {
            checkMessage(e.getMessage());
        }
        return JVM.getCurrentThreadAllocatedBytes() - before;
    }

    /** The tensors fill the file, one after the other. */
    private static void check(Header header, long length) {
        long at = 0;
        for (TensorInfo tensor : header.tensors().values()) {
            long bytes = tensor.type().bytes();
            for (long size : tensor.shape()) {
                bytes *= size;
            }
            require(tensor.begin() == at && tensor.end() - at == bytes, "a tensor of its bytes: " + tensor);
            at = tensor.end();
        }
        require(header.dataBegin() + at == length, "tensors that fill the file");
    }

    static void checkMessage(String message) {
        require(message.startsWith("fuzz: "), "the file's name: " + message);
        require(message.contains("expected "), "what was expected: " + message);
        require(message.length() < 1000, "a short message: " + message);
        require(message.chars().noneMatch(Character::isISOControl), "one line: " + message);
    }

    private static void require(boolean holds, String expected) {
        if (!holds) {
            throw new AssertionError("expected " + expected);
        }
    }
}
