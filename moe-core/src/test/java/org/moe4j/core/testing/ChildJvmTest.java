package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

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

    private static Path home(Path folder, String name, String version, String modules) throws IOException {
        Path home = Files.createDirectories(folder.resolve(name));
        Path java = Files.createFile(Files.createDirectory(home.resolve("bin")).resolve("java"));
        assertThat(java.toFile().setExecutable(true)).isTrue();
        Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\nMODULES=\"" + modules + "\"\n");
        return home;
    }

    @Test
    void aJdkWithoutTheModuleIsPassedOverWithAMessage(@TempDir Path folder) throws IOException {
        Path old = home(folder, "old", "11.0.21", "java.base jdk.incubator.vector");
        Path same = home(folder, "same", "17.0.15", "java.base jdk.incubator.vector");
        Path with = home(folder, "with", "21.0.2", "java.base jdk.incubator.vector java.sql");
        Path without = home(folder, "without", "25", "java.base jdk.incubator.vectors");
        List<Path> all = List.of(old, same, with, without, folder.resolve("none"));
        assertThat(ChildJvm.otherJava(all, 17)).isEqualTo(without.resolve("bin/java"));
        assertThat(ChildJvm.otherJava(all, 17, "jdk.incubator.vector")).isEqualTo(with.resolve("bin/java"));
        assertThatThrownBy(() -> ChildJvm.otherJava(List.of(old, same, without), 17, "jdk.incubator.vector"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessageContaining(without + " lacks [jdk.incubator.vector]");
        assertThatThrownBy(() -> ChildJvm.otherJava(List.of(old), 17))
                .isInstanceOf(TestAbortedException.class)
                .hasMessageEndingWith("but was none");
    }
}
