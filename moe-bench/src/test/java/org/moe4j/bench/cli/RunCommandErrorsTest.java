package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.moe4j.bench.cli.FailingRun.GATE;
import static org.moe4j.bench.cli.FailingRun.OLMOE;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.bench.cli.RunFixture.Outcome;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;

/** What goes wrong is one line that says what and where, status 1, and no file. */
final class RunCommandErrorsTest {
    @TempDir
    private Path temporary;

    private FailingRun run;
    private Path input;
    private Path output;
    private Path results;

    @BeforeEach
    void files() throws IOException {
        run = FailingRun.in(temporary);
        input = run.input();
        output = run.output();
        results = run.results();
    }

    private void fails(String line, Outcome outcome) throws IOException {
        run.fails(line, outcome);
    }

    private void fails(String line, Map<String, Numbers> tensors) throws IOException {
        RunFixture.write(input, tensors);
        run.fails(input + ": " + line, RunFixture.named(OLMOE).run(input, output));
    }

    @Nested
    final class Input {
        @Test
        void noFile() throws IOException {
            Files.delete(input);
            fails(
                    "--input: expected a safetensors file but found none at " + input,
                    RunFixture.named(OLMOE).run(input, output));
        }

        @Test
        void noSafetensors() throws IOException {
            Files.writeString(input, "hidden_states");
            fails(input + ": ", RunFixture.named(OLMOE).run(input, output));
        }

        @Test
        void noTokens() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            tensors.put("hidden_state", tensors.remove("hidden_states"));
            fails(
                    "expected a tensor hidden_states but was a file with these: d_output, hidden_state; rename"
                            + " hidden_state?",
                    tensors);
            fails("expected a tensor hidden_states but was a file with none", Map.of());
        }

        /** Their products are no numbers of float64. */
        @Test
        void numbersThatAreTooLarge() throws IOException {
            Numbers tokens = FailingRun.tokens().get("hidden_states");
            double[] large =
                    Arrays.stream(tokens.values()).map(value -> value * 1e200).toArray();
            RunFixture.write(input, Map.of("hidden_states", Numbers.of(tokens.shape(), large)));
            for (String backend : List.of("nd4j", "reference")) {
                fails(
                        "--output: output: expected finite results but number 0 is ",
                        RunFixture.named(OLMOE).run(input, output, "--dtype", "float64", "--backend", backend));
            }
        }

        @Test
        void anotherWidth() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            Numbers tokens = tensors.get("hidden_states");
            long width = tokens.columns();
            tensors.put("hidden_states", tokens.as((long) tokens.rows() * 2, width / 2));
            fails(
                    "hidden_states: expected shape [T, " + width + "] or [B, S, " + width + "] but was ["
                            + 2 * tokens.rows() + ", " + width / 2 + "]",
                    tensors);
            tensors.put("hidden_states", tokens.as((long) tokens.rows() * width));
            fails("hidden_states: expected shape [T, ", tensors);
            tensors.put("hidden_states", tokens.as(1L, 1L, (long) tokens.rows(), width));
            fails("hidden_states: expected shape [T, ", tensors);
        }

        @Test
        void wholeNumbers() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            tensors.put("hidden_states", tensors.get("hidden_states").as(ElementType.I32));
            fails("hidden_states: expected numbers of [F64, F32, F16, BF16] but was I32", tensors);
            tensors = FailingRun.tokens();
            tensors.put("d_output", tensors.get("d_output").as(ElementType.I64));
            fails("d_output: expected numbers of [F64, F32, F16, BF16] but was I64", tensors);
        }

        @Test
        void aNumberThatIsNotFiniteIsNamedByTokenAndColumn() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            Numbers tokens = tensors.get("hidden_states");
            int width = tokens.columns();
            tokens.values()[3 * width + 5] = Double.NaN;
            tokens.values()[4 * width] = Double.POSITIVE_INFINITY;
            fails("hidden_states: expected finite numbers but was NaN at token 3, column 5", tensors);
            tensors.put("hidden_states", tokens.as((long) tokens.rows(), 1L, (long) width));
            tensors.remove("d_output");
            fails("hidden_states: expected finite numbers but was NaN at sequence 3, token 0, column 5", tensors);
            tensors = FailingRun.tokens();
            tensors.get("d_output").values()[2] = Double.NEGATIVE_INFINITY;
            fails("d_output: expected finite numbers but was -Infinity at token 0, column 2", tensors);
        }

        @Test
        void aNumberThatIsTooLargeForThePrecision() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            tensors.get("hidden_states").values()[0] = 1e200;
            fails("hidden_states: expected finite numbers but was Infinity at token 0, column 0", tensors);
        }

        @Test
        void aGradientOfAnotherShape() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            Numbers dOutput = tensors.get("d_output");
            tensors.put("d_output", dOutput.as(1L, (long) dOutput.rows(), (long) dOutput.columns()));
            fails("d_output: expected the shape of hidden_states, [", tensors);
        }

        @Test
        void tensorsWithoutMeaningAreSaid() throws IOException {
            Map<String, Numbers> tensors = FailingRun.tokens();
            tensors.put("d_ouput", tensors.remove("d_output"));
            tensors.put("mask", tensors.get("hidden_states"));
            RunFixture.write(input, tensors);
            Outcome outcome = RunFixture.named(OLMOE).run(input, output);
            assertThat(outcome.status()).isZero();
            assertThat(outcome.err().lines())
                    .containsExactly(
                            "moe: " + input + ": d_ouput is not used; did you mean d_output?",
                            "moe: " + input + ": mask is not used");
            try (SafetensorsFile file = SafetensorsFile.open(output)) {
                assertThat(file.tensors()).hasSize(4);
            }
        }
    }

    @Nested
    final class Output {
        @Test
        void noFolder() throws IOException {
            fails(
                    "--output: expected a file in a folder that is there but was " + results.resolve("a/b"),
                    RunFixture.named(OLMOE).run(input, results.resolve("a/b")));
            fails(
                    "--output: expected a file in a folder that is there",
                    RunFixture.named(OLMOE).run(input, input.resolve("b")));
        }

        @Test
        void aFolder() throws IOException {
            fails(
                    "--output: expected a file but was " + results,
                    RunFixture.named(OLMOE).run(input, results));
        }

        @Test
        void theInput() throws IOException {
            byte[] before = Files.readAllBytes(input);
            fails(
                    "--output: expected another file than that of --input but was ",
                    RunFixture.named(OLMOE).run(input, results.resolve("../input.safetensors")));
            assertThat(input).hasBinaryContent(before);
        }

        @Test
        void aFileOfTheCheckpoint() throws IOException {
            Path folder = run.copy(OLMOE);
            Path model = folder.resolve("model.safetensors");
            byte[] before = Files.readAllBytes(model);
            fails(
                    "--output: expected a file that is not in the checkpoint yet but was " + model,
                    RunFixture.run(folder, 1, input, model));
            assertThat(model).hasBinaryContent(before);
        }

        @Test
        void anOldFileIsReplacedBySuccessAndKeptByFailure() throws IOException {
            Files.writeString(output, "old");
            RunFixture fixture = RunFixture.named(OLMOE);
            Outcome failed = RunFixture.run(fixture.folder(), 7, input, output);
            assertThat(failed.status()).isEqualTo(1);
            assertThat(output).hasContent("old");
            assertThat(fixture.run(input, output).status()).isZero();
            assertThat(RunFixture.read(output)).containsKey("grad." + GATE);
            try (Stream<Path> files = Files.list(results)) {
                assertThat(files).containsExactly(output);
            }
        }
    }

    @Nested
    final class Usage {
        private void wrong(String line, String... arguments) {
            Outcome outcome = RunFixture.moe(List.of(arguments));
            assertThat(outcome.status()).isEqualTo(2);
            assertThat(outcome.out()).isEmpty();
            assertThat(outcome.err().lines()).hasSize(2).last().isEqualTo("Try 'moe run --help'.");
            assertThat(outcome.err()).startsWith("moe: ").contains(line);
        }

        private String[] with(String... options) {
            List<String> arguments = new ArrayList<>(List.of("run", "folder", "--layer", "1", "--input", "x"));
            arguments.addAll(List.of("--output", "y"));
            arguments.addAll(List.of(options));
            return arguments.toArray(String[]::new);
        }

        @Test
        void whatIsMissing() {
            wrong("CHECKPOINT", "run", "--layer", "1", "--input", "x", "--output", "y");
            wrong("--layer", "run", "folder", "--input", "x", "--output", "y");
            wrong("--input", "run", "folder", "--layer", "1", "--output", "y");
            wrong("--output", "run", "folder", "--layer", "1", "--input", "x");
            wrong("--input: expected a path but was empty", "run", "f", "--layer", "1", "--input", "", "--output", "y");
        }

        @Test
        void whatIsNoValue() {
            wrong("--layer", "run", "folder", "--layer", "first", "--input", "x", "--output", "y");
            wrong("expected vector, nd4j or reference but was gpu", with("--backend=gpu"));
            wrong("expected float32 or float64 but was bfloat16", with("--dtype=bfloat16"));
            wrong("--residuals", with("--residuals"));
        }
    }
}
