package org.moe4j.checkpoint.safetensors;

import java.io.IOException;

/** A file is not what the safetensors format demands; the message names the file, the tensor and the offset. */
public final class SafetensorsFormatException extends IOException {
    private static final long serialVersionUID = 1;

    /**
     * Says what is wrong.
     *
     * @param message {@code file: part: expected X but was Y}
     */
    public SafetensorsFormatException(String message) {
        super(message);
    }

    SafetensorsFormatException(String message, Throwable cause) {
        super(message, cause);
    }
}
