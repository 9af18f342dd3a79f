package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;

/** Miniatures rewritten, run, and compared with what they were. */
final class Rewritten {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private Rewritten() {}

    static RewriteReport rewrite(Path from, Path to, RewriteOperation... operations) throws IOException {
        try (MoeCheckpoint original = MoeCheckpoint.open(from)) {
            return CheckpointRewrite.write(original, List.of(operations), to, () -> {});
        }
    }

    static double[] output(Fixture fixture, Path folder) throws IOException {
        double[] tokens = fixture.expected("hidden_states");
        int count = fixture.facts().get("tokens").asInt();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer layer = checkpoint.layer(fixture.layer(), BACKEND);
                Matrix x = BACKEND.matrix(count, tokens.length / count, tokens);
                Matrix output = layer.apply(x)) {
            return output.toArray();
        }
    }

    /** Its own definition of what changes: the texts of the configuration are the same but for the value of a key. */
    static void assertConfig(Path from, Path to, String before, String after) throws IOException {
        String text = Files.readString(from.resolve("config.json"));
        assertThat(text).containsOnlyOnce(before);
        assertThat(Files.readString(to.resolve("config.json"))).isEqualTo(text.replace(before, after));
    }

    /** All tensors but those are what they were. */
    static void assertKept(Path from, Path to, String changed) throws IOException {
        Map<String, Folders.Bytes> before = new TreeMap<>(Folders.tensors(from));
        Map<String, Folders.Bytes> after = new TreeMap<>(Folders.tensors(to));
        assertThat(after.keySet()).isEqualTo(before.keySet());
        Set<String> differ = new TreeSet<>();
        before.forEach((name, bytes) -> {
            if (!after.get(name).equals(bytes)) {
                differ.add(name);
            }
        });
        assertThat(differ).isNotEmpty().allMatch(name -> name.matches(changed));
    }
}
