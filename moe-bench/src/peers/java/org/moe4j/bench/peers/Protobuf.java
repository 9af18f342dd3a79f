package org.moe4j.bench.peers;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * A message in the wire format of Protocol Buffers, as far as a model of two nodes needs it.
 *
 * @see <a href="https://protobuf.dev/programming-guides/encoding/">Encoding</a>
 */
final class Protobuf {
    private static final int VARINT = 0;
    private static final int LENGTH = 2;
    private static final int FIXED32 = 5;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    Protobuf number(int field, long value) {
        tag(field, VARINT);
        varint(value);
        return this;
    }

    Protobuf real(int field, float value) {
        tag(field, FIXED32);
        int bits = Float.floatToRawIntBits(value);
        for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
            bytes.write(bits >>> shift);
        }
        return this;
    }

    Protobuf text(int field, String value) {
        return raw(field, value.getBytes(StandardCharsets.UTF_8));
    }

    Protobuf message(int field, Protobuf value) {
        return raw(field, value.toBytes());
    }

    private Protobuf raw(int field, byte[] value) {
        tag(field, LENGTH);
        varint(value.length);
        bytes.writeBytes(value);
        return this;
    }

    private void tag(int field, int type) {
        varint((long) field << 3 | type);
    }

    private void varint(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            bytes.write((int) (rest & 0x7f | 0x80));
            rest >>>= 7;
        }
        bytes.write((int) rest);
    }

    byte[] toBytes() {
        return bytes.toByteArray();
    }
}
