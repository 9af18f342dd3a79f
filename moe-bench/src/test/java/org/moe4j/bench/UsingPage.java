package org.moe4j.bench;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.preset.Preset;

/** The programs of docs/using.md, compiled once for each class of tests. */
abstract class UsingPage {
    static final Backend BACKEND = Nd4jBackend.float64();
    static final int HIDDEN = 16;

    @TempDir
    static Path classes;

    static JavaBlocks page;

    @BeforeAll
    static void compile() throws IOException {
        page = JavaBlocks.compile("docs/using.md", classes);
    }

    @AfterAll
    static void close() throws IOException {
        page.close();
    }

    /** The layer that the page's program makes of a preset of small sizes. */
    static MoeLayer layer(Preset preset) throws ReflectiveOperationException {
        return (MoeLayer) page.method("PresetLayers", "random", Preset.class, Backend.class, long.class)
                .invoke(null, preset, BACKEND, 1L);
    }
}
