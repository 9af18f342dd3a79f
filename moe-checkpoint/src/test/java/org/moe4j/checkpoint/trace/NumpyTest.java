package org.moe4j.checkpoint.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.ElementType.BOOL;
import static org.moe4j.checkpoint.safetensors.ElementType.F64;
import static org.moe4j.checkpoint.safetensors.ElementType.I64;
import static org.moe4j.checkpoint.safetensors.ElementType.U8;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.safetensors.ElementType;

class NumpyTest {
    private static final TraceOptions FOUR = TraceOptions.none().withExperts(4);

    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("a.npy");
    }

    private Path write(int version, String header, ElementType type, double... values) throws IOException {
        return Files.write(file(), Arrays2D.numpy(version, header, Arrays2D.bytes(type, values)));
    }

    @ParameterizedTest
    @EnumSource(names = {"I64", "I32", "I16", "I8", "U8"})
    void wholeNumbersAreIndices(ElementType type) throws IOException {
        TraceFile trace = TraceFile.open(Arrays2D.numpy(file(), type, "2, 2", 3, 0, 1, 2), FOUR);
        assertThat(trace.layers()).containsExactly("0");
        assertThat(trace.metadata()).isEmpty();
        assertThat(trace.source("0").block(0, 2).expertsOf(1)).containsExactly(1, 2);
    }

    @ParameterizedTest
    @EnumSource(names = {"F64", "F32", "F16"})
    void otherNumbersAreLogits(ElementType type) throws IOException {
        TraceFile trace = TraceFile.open(
                Arrays2D.numpy(file(), type, "2, 2", 3, 0, -1, 2),
                TraceOptions.none().withTopK(1));
        assertThat(trace.source("0").block(0, 2).expertsOf(0)).containsExactly(0);
        double[] row = new double[2];
        trace.logits("0").orElseThrow().read(1, 1, row);
        assertThat(row).containsExactly(-1, 2);
    }

    @Test
    void theFirstOfThreeAxesIsTheLayer() throws IOException {
        double[] values = {0, 1, 1, 2, 2, 3, 3, 0, 0, 2, 1, 3};
        TraceFile trace = TraceFile.open(Arrays2D.numpy(file(), I64, "2, 3, 2", values), FOUR);
        assertThat(trace.layers()).containsExactly("0", "1");
        assertThat(trace.tokens()).isEqualTo(3);
        for (int layer = 0; layer < 2; layer++) {
            for (int t = 0; t < 3; t++) {
                int at = (layer * 3 + t) * 2;
                assertThat(trace.source(Integer.toString(layer)).block(t, 1).expertsOf(0))
                        .containsExactly((int) values[at], (int) values[at + 1]);
            }
        }
    }

    @Test
    void aFaultNamesTheLayer() throws IOException {
        TraceFile trace = TraceFile.open(Arrays2D.numpy(file(), U8, "2, 1, 1", 0, 4), FOUR);
        assertThatThrownBy(() -> trace.source("1").block(0, 1))
                .hasMessage(file() + ": array[1]: expected 0..3 (experts) but was 4 for token 0");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }",
                "{'shape': (1,2), 'fortran_order': False, 'descr': '|u1'}",
                "{\"shape\":( 1 , 2 , ),\"descr\":\"|u1\",\"fortran_order\":False}  ",
            })
    void headersMayBeSpelledOtherwise(String header) throws IOException {
        for (int version = 1; version <= 2; version++) {
            TraceFile trace = TraceFile.open(write(version, header, U8, 2, 1), FOUR);
            assertThat(trace.source("0").block(0, 1).expertsOf(0)).containsExactly(2, 1);
        }
    }

    private void assertRefused(String header, String message) throws IOException {
        write(1, header, U8, 2, 1);
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .isExactlyInstanceOf(IOException.class)
                .hasMessage(file() + ": " + message);
    }

    private static String header(String descr, String order, String shape) {
        return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
    }

    @Test
    void whatIsNotPlainNumbersInCOrderIsRefused() throws IOException {
        assertRefused(
                header("'|O'", "False", "(1, 2)"),
                "array: expected numbers but was Python objects (|O), which are a pickle");
        assertRefused(
                header("'|u1'", "True", "(1, 2)"),
                "array: expected C order but was Fortran order; save numpy.ascontiguousarray(array)");
        String types =
                "array: expected one of the types [<f2, <f4, <f8, <i2, <i4, <i8, <u2, <u4, <u8, |b1, |i1, |u1] but was ";
        assertRefused(header("'>i4'", "False", "(1, 2)"), types + "'>i4'; save it with its type's newbyteorder('<')");
        assertRefused(header("'<c8'", "False", "(1, 2)"), types + "'<c8'");
        assertRefused(
                "{'descr': [('a', '<i4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }",
                "array: expected numbers of one type but was a structured type");
    }

    @Test
    void shapesAreThoseOfLayersTokensAndExperts() throws IOException {
        String shapes = "array: expected shape [tokens, experts] or [layers, tokens, experts] but was ";
        assertRefused(header("'|u1'", "False", "(2,)"), shapes + "[2]");
        assertRefused(header("'|u1'", "False", "(1, 1, 1, 2)"), shapes + "[1, 1, 1, 2]");
        write(1, header("'|u1'", "False", "()"), U8, 2);
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR)).hasMessage(file() + ": " + shapes + "[]");
        write(1, header("'|u1'", "False", "(0, 2)"), U8);
        TraceFile none = TraceFile.open(file(), FOUR);
        assertThat(none.tokens()).isZero();
        assertThat(none.source("0").block(0, 0).slots()).isZero();
        write(1, header("'|u1'", "False", "(0, 0, 2)"), U8);
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .hasMessage(file() + ": array: expected 1..4096 layers but was [0, 0, 2]");
        assertRefused(header("'|u1'", "False", "(1, 3)"), "array: expected 3 bytes for shape [1, 3] but was 2");
        assertRefused(header("'|u1'", "False", "(1, 1)"), "array: expected 1 bytes for shape [1, 1] but was 2");
        assertRefused(
                header("'|u1'", "False", "(4294967296, 4294967296)"),
                "array: expected a shape whose bytes can be counted but was [4294967296, 4294967296]");
        for (String shape : new String[] {"(1,,2)", "(1 2, 1)", "(9999999999999999999, 1)", "(,)"}) {
            assertRefused(
                    header("'|u1'", "False", shape), "header: expected a tuple of sizes as shape but was " + shape);
        }
        assertRefused(header("'|u1'", "False", "'a'"), "header: expected a tuple of sizes as shape but was 'a'");
    }

    @Test
    void headersAreDictionariesOfThreeKeys() throws IOException {
        String dictionary = "header: expected a Python dictionary of descr, fortran_order and shape but was ";
        assertRefused("", dictionary);
        assertRefused("[1]", dictionary + "[1]");
        assertRefused("{'descr': '|u1' 'shape': (1, 2)}", dictionary + "'shape': (1, 2)}");
        assertRefused("{'descr': __import__('os')}", dictionary + "'descr': __import__('os')}");
        assertRefused("{'descr': '|u1', 'shape': (1, 2)}", "header: expected the key fortran_order but was absent");
        assertRefused(
                header("'|u1'", "False", "(1, 2)").replace("}", "'more': 'a'}"),
                "header: expected the keys descr, fortran_order and shape but was more");
        assertRefused(
                header("'|u1'", "False", "(1, 2)").replace("}", "'shape': (1, 2)}"),
                "header: expected different keys but was shape twice");
    }

    @Test
    void versionsAndLengthsAreChecked() throws IOException {
        byte[] right = Arrays2D.numpy(1, header("'|u1'", "False", "(1, 2)"), new byte[] {2, 1});
        for (int length = 0; length < right.length; length++) {
            Files.write(file(), Arrays.copyOf(right, length));
            assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                    .isExactlyInstanceOf(IOException.class)
                    .hasMessageStartingWith(file() + ": ");
        }
        Files.write(file(), Arrays2D.numpy(3, header("'|u1'", "False", "(1, 2)"), new byte[] {2, 1}));
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .hasMessage(file() + ": header: expected version 1 or 2 but was 3");
        Files.write(file(), Arrays2D.numpy(2, " ".repeat(70_000), new byte[0]));
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .hasMessageContaining("header: expected at most 65536 bytes but was 7");
    }

    @Test
    void booleansAreNoTrace() throws IOException {
        Arrays2D.numpy(file(), BOOL, "1, 2", 0, 1);
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .hasMessage(file() + ": array: expected logits or indices of experts but was an array of booleans");
    }

    @Test
    void otherFilesAreToldByTheirFirstBytes() throws IOException {
        Path archive = Files.write(folder.resolve("a.npz"), new byte[] {'P', 'K', 3, 4, 0, 0, 0, 0});
        assertThatThrownBy(() -> TraceFile.open(archive, FOUR))
                .hasMessage(
                        archive + ": file: expected one array (numpy.save) but was a zip archive, as of numpy.savez");
        Files.write(file(), new byte[] {(byte) 0x80, 4, '.'});
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .hasMessage(file() + ": file: expected an array as of numpy.save but was a pickle");
        Files.write(file(), "abc".getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(() -> TraceFile.open(file(), FOUR))
                .hasMessage(file() + ": file: expected an array as of numpy.save but was something else;"
                        + " it begins with other bytes");
        Path unnamed = Files.move(Arrays2D.numpy(file(), F64, "1,1", 0), folder.resolve("unnamed"));
        assertThat(TraceFile.open(unnamed, TraceOptions.none().withTopK(1)).tokens())
                .isEqualTo(1);
    }
}
