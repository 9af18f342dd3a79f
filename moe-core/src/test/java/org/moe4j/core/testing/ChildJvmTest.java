package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever stands beside a JDK is looked at without an error. */
class ChildJvmTest {
    private static int feature(Path home, String version) throws IOException {
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n");
        return ChildJvm.feature(home);
    }

    @Test
    void everyJdkHasAFeatureRelease(@TempDir Path home) throws IOException {
        assertThat(ChildJvm.feature(home)).isZero();
        assertThat(feature(home, "1.8.0_392")).isZero();
        assertThat(feature(home, "11.0.21")).isEqualTo(11);
        assertThat(feature(home, "17.0.15")).isEqualTo(17);
        assertThat(feature(home, "25")).isEqualTo(25);
    }
}
