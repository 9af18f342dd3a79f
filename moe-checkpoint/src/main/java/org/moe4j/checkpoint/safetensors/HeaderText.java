package org.moe4j.checkpoint.safetensors;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** The characters of a header, decoded strictly and piece by piece, so that a long header takes no memory of its length. */
final class HeaderText extends Reader {
    private static final int PIECE = 8192;

    private final String file;
    private final InputStream in;
    private final ByteBuffer bytes;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT);
    private long left;
    private long at = Long.BYTES;

    /**
     * A reader.
     *
     * @param file name for messages
     * @param in stands behind the length of the header
     * @param length bytes of the header
     */
    HeaderText(String file, InputStream in, long length) {
        this.file = file;
        this.in = in;
        left = length;
        bytes = ByteBuffer.allocate((int) Math.min(PIECE, length)).limit(0);
    }

    /** Gives at least one character; there has to be room for two, as some take both. */
    @Override
    public int read(char[] into, int from, int count) throws IOException {
        Objects.checkIndex(1, count);
        CharBuffer text = CharBuffer.wrap(into, from, count);
        int begin = text.position();
        while (true) {
            int before = bytes.position();
            CoderResult result = decoder.decode(bytes, text, left == 0);
            at += bytes.position() - before;
            if (text.position() > begin) {
                return text.position() - begin;
            }
            if (result.isError()) {
                throw new SafetensorsFormatException(file + ": header: expected UTF-8 but was malformed at byte " + at);
            }
            if (left == 0) {
                return -1;
            }
            fill();
        }
    }

    private void fill() throws IOException {
        bytes.compact();
        int read = in.read(bytes.array(), bytes.position(), (int) Math.min(bytes.remaining(), left));
        if (read < 0) {
            throw new EOFException(file + ": expected a file that stays as it is but was cut off at byte " + at);
        }
        left -= read;
        bytes.position(bytes.position() + read).flip();
    }

    @Override
    public void close() {
        // the file is its owner's
    }
}
