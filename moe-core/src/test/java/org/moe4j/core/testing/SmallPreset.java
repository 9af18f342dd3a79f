package org.moe4j.core.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.moe4j.core.preset.Preset;

/** A preset of experts of hidden size 8 and intermediate size 4, for tests of its other sections. */
public final class SmallPreset {
    private SmallPreset() {}

    /**
     * Writes the file and reads it.
     *
     * @param folder where it is written
     * @param id name of the file, which messages begin with
     * @param experts E
     * @param lines of the other sections, one or several
     * @return the preset
     * @throws IOException when the folder cannot be written to
     */
    public static Preset of(Path folder, String id, int experts, String lines) throws IOException {
        String text = """
                name = Test
                source = nobody
                experts.count = %d
                experts.hiddenSize = 8
                experts.intermediateSize = 4
                %s
                """.formatted(experts, lines);
        return Preset.load(Files.writeString(folder.resolve(id + ".properties"), text));
    }
}
