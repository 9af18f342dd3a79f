package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

final class InspectCommandTest {
    private static final Path RESOURCES = Path.of("..", "moe-checkpoint", "src", "test", "resources");

    @TempDir
    Path temporary;

    /** What a command left behind. */
    private record Outcome(int status, String out, String err) {}

    private static Outcome inspect(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        String[] all = new String[arguments.length + 1];
        all[0] = "inspect";
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        int status = Moe.execute(commandLine, all);
        return new Outcome(status, out.toString(), err.toString());
    }

    private static String text(String path) {
        Outcome outcome = inspect(RESOURCES.resolve(path).toString());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.status()).isZero();
        return outcome.out();
    }

    private static JsonNode json(String path) throws IOException {
        Outcome outcome = inspect(RESOURCES.resolve(path).toString(), "--json");
        assertThat(outcome.status()).isZero();
        return new ObjectMapper().readTree(outcome.out());
    }

    @Test
    void textOfOthersDoesNothingToATerminal() throws IOException {
        Path config = Files.writeString(
                temporary.resolve("config.json"),
                "{\"model_type\": \"a\\n\\nb\\u001b[31m\\u202e" + "x".repeat(1_000_000) + "\"}");
        Outcome outcome = inspect(config.toString());
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.err())
                .hasSizeLessThan(5000)
                .doesNotContain("\u001b", "\u202e")
                .contains("a; b?[31m?x");
        assertThat(outcome.err().lines()).hasSize(1);
        String released = Files.readString(RESOURCES.resolve("released/olmoe-1b-7b.json"));
        Files.writeString(config, released.replaceFirst("\"bfloat16\"", "\"a\\\\n\\\\u001b[1m\""));
        outcome = inspect(config.toString());
        assertThat(outcome.status()).isZero();
        assertThat(outcome.out()).doesNotContain("\u001b").contains("bytes as a; ?[1m");
    }

    @Test
    void anEmptyPathIsWrongUsage() {
        assertThat(inspect("").status()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({
        "olmoe-1b-7b, 6919161856, 1178994688, 1282017280",
        "mixtral-8x7b, 46702792704, 12748853248, 12879925248",
        "qwen3-30b-a3b, 30532122624, 3041867776, 3353032704",
        "deepseek-v3, 671026419200, 36625618432, 37552297472"
    })
    void publishedCountsAreInTableAndJson(String model, long all, long without, long with) throws IOException {
        String path = "released/" + model + ".json";
        JsonNode census = json(path).get("census");
        assertThat(census.get("parameters").asLong()).isEqualTo(all);
        assertThat(census.get("active_without_embedding").asLong()).isEqualTo(without);
        assertThat(census.get("active_with_embedding").asLong()).isEqualTo(with);
        assertThat(census.get("from").asText()).isEqualTo("config");
        assertThat(text(path))
                .contains(String.format(Locale.ROOT, "%,d", all))
                .contains(String.format(
                        Locale.ROOT, "active per token: %,d; without the embedding lookup %,d", with, without));
    }

    @Test
    void olmoeIsDescribedLineByLine() {
        assertThat(text("released/olmoe-1b-7b.json").lines())
                .contains("layers 16: MoE 0-15; others none", "E 64, K 8, D 2048, F 1024, shared width 0")
                .anyMatch(line -> line.matches("router\\.renormalization +none"))
                .anyMatch(line -> line.matches("routed_experts +6,442,450,944 +93\\.1 % +805,306,368 +12\\.00 GiB"))
                .anyMatch(line -> line.matches("router +2,097,152 +0\\.0 % +2,097,152 +4\\.00 MiB"))
                .anyMatch(line -> line.matches("all +6,919,161,856 +100\\.0 % .* 12\\.89 GiB"))
                .contains("counted by config.json; bytes as bfloat16")
                .anyMatch(line -> line.matches("equal +0\\.1250 +0\\.0020 .*"));
    }

    @Test
    void everyNumberOfTheTablesIsInTheJson() throws IOException {
        String text = text("fixtures/deepseek-v3");
        JsonNode root = json("fixtures/deepseek-v3");
        root.get("settings")
                .properties()
                .forEach(setting -> assertThat(text)
                        .containsPattern("(?m)^" + setting.getKey() + " +"
                                + setting.getValue().asText() + "$"));
        for (JsonNode role : root.get("census").get("roles")) {
            assertThat(text)
                    .containsPattern("(?m)^" + role.get("role").asText() + " +"
                            + String.format(
                                    Locale.ROOT, "%,d", role.get("parameters").asLong()) + " .* "
                            + String.format(
                                    Locale.ROOT, "%,d", role.get("active").asLong()) + " ");
        }
        for (String logits : List.of("uniform", "normal")) {
            JsonNode prediction = root.get("merge").get(logits);
            assertThat(text)
                    .containsPattern(String.format(
                            Locale.ROOT,
                            "%.4f +%.4f +%.4f +%.4f +%.4f +%.4f",
                            prediction.get("sum_p").asDouble(),
                            prediction.get("sum_p_squared").asDouble(),
                            prediction.get("weighted_mean").asDouble(),
                            prediction.get("variance_ratio").asDouble(),
                            prediction.get("rms_ratio").asDouble(),
                            prediction.get("cosine").asDouble()));
        }
        assertThat(root.get("layers").get("moe").toString()).isEqualTo("[1]");
        assertThat(text).contains("MoE 1; others 0");
        assertThat(text)
                .contains("seed " + root.get("merge").get("normal").get("seed").asLong());
    }

    /** The stand-ins that the miniature checkpoint has for attention are found not to be what its configuration says. */
    @Test
    void filesAreCountedAndComparedWithTheConfiguration() throws IOException {
        JsonNode census = json("fixtures/deepseek-v3").get("census");
        assertThat(census.get("from").asText()).isEqualTo("files");
        assertThat(census.get("differences").size()).isEqualTo(1);
        assertThat(census.get("differences").get(0).get("role").asText()).isEqualTo("attention");
        assertThat(census.get("others").size()).isEqualTo(4);
        assertThat(census.get("further_tokens").get("parameters").asLong()).isPositive();
        assertThat(text("fixtures/deepseek-v3"))
                .contains("counted in the files")
                .containsPattern("(?m)^attention: [0-9,]+ in the files, [0-9,]+ by config.json$")
                .contains("apart: layers that predict further tokens, ")
                .contains("other: model.layers.0.self_attn.k_proj.weight,\n  ");
    }

    /** With a config.json only, and a family whose mixers do not follow from it. */
    @Test
    void whatIsNotKnownIsSaid() throws IOException {
        JsonNode census = json("fixtures/nemotron-3-latent/config.json").get("census");
        assertThat(census.get("parameters").isNull()).isTrue();
        long known = 0;
        for (JsonNode role : census.get("roles")) {
            known += role.get("parameters").asLong();
        }
        assertThat(census.at("/known/parameters").asLong()).isEqualTo(known).isPositive();
        assertThat(census.get("unknown").get(0).get("role").asText()).isEqualTo("attention");
        assertThat(text("fixtures/nemotron-3-latent/config.json"))
                .contains("latent 12")
                .contains("all that is known")
                .contains(
                        "attention: needs the files,\n  as the sizes of its tensors do not follow from the configuration\n");
    }

    @Test
    void packedFilesAreSaidToTakeLess() {
        assertThat(text("released/deepseek-v3.json"))
                .contains("layers 61: MoE 3-60; others 0-2")
                .contains("bytes as bfloat16\nthe files are packed (fp8) and take less\n");
    }

    @Test
    void aTypeThatIsNotSaidIsNotKnown() throws IOException {
        Path file = withoutType();
        Outcome table = inspect(file.toString());
        assertThat(table.out())
                .contains("counted by config.json; it does not say of which type\n")
                .doesNotContain("absent");
        assertThat(table.out()).containsPattern("(?m)^all +6,919,161,856 .* \\?$");
        JsonNode census = new ObjectMapper()
                .readTree(inspect(file.toString(), "--json").out())
                .get("census");
        assertThat(census.get("element_type").isNull()).isTrue();
        assertThat(census.get("bytes").isNull()).isTrue();
    }

    private Path withoutType() throws IOException {
        String text = Files.readString(RESOURCES.resolve("released/olmoe-1b-7b.json"));
        String without = text.replaceFirst(",\\s*\"torch_dtype\": \"bfloat16\"", "");
        assertThat(without).isNotEqualTo(text);
        return Files.writeString(temporary.resolve("config.json"), without);
    }

    /** As the article on OLMoE-1B-7B prints them (LLM Architecture Refresh 5, §§1, 2 and 5). */
    @Test
    void olmoesBillsAreThePrintedOnes() throws IOException {
        assertThat(text("released/olmoe-1b-7b.json").lines())
                .anyMatch(line -> line.matches("bytes of all, 32 bits +25\\.78 GiB +27,676,647,424"))
                .anyMatch(line -> line.matches("bytes of all, 16 bits +12\\.89 GiB +13,838,323,712"))
                .anyMatch(line -> line.matches("without the router, 16 bits +12\\.88 GiB +13,834,129,408"))
                .anyMatch(line -> line.matches("parameters of the router +0\\.030 %, 4\\.00 MiB in 16 bits +2,097,152"))
                .anyMatch(line -> line.matches("parameters active +17\\.04 %; all are 5\\.87 x +1,178,994,688"))
                .anyMatch(line -> line.matches("parameters of one expert +6,291,456"))
                .anyMatch(line -> line.matches("8 of 64 experts +work on a token in a layer +50,331,648"))
                .anyMatch(line -> line.matches("64 of 64 experts +8\\.00 x their arithmetic +402,653,184"))
                .anyMatch(line -> line.matches("width used by a token +4\\.00 x D +8,192"))
                .anyMatch(line -> line.matches("width held by a layer +32\\.00 x D, 8\\.00 x the used +65,536"))
                .anyMatch(line -> line.matches(" +8 +8,192 +1 +8"))
                .anyMatch(line -> line.matches(" +16 +4,096 +2 +120"))
                .anyMatch(line -> line.matches(" +32 +2,048 +4 +35,960"))
                .anyMatch(line -> line.matches(" +64 +1,024 +8 +4,426,165,368"));
        JsonNode bills = json("released/olmoe-1b-7b.json").get("bills");
        assertThat(bills.at("/bytes/16").asLong()).isEqualTo(13_838_323_712L);
        assertThat(bills.at("/bytes_without_router/16").asLong()).isEqualTo(13_834_129_408L);
        assertThat(bills.get("stored_over_active").asDouble()).isCloseTo(5.87, within(0.005));
        assertThat(bills.get("active_share").asDouble()).isCloseTo(0.1704, within(0.00005));
        assertThat(bills.get("router_share").asDouble()).isCloseTo(0.0003, within(0.000005));
        assertThat(bills.get("expert_parameters").asLong()).isEqualTo(6_291_456);
        assertThat(bills.get("layer_flops_per_token").asLong()).isEqualTo(2 * (50_331_648L + 131_072));
        assertThat(bills.get("all_experts_arithmetic").asDouble()).isEqualTo(8);
        assertThat(bills.get("width_held").asLong()).isEqualTo(65_536);
        assertThat(bills.get("equal_budget").get(3).get("sets").asLong()).isEqualTo(4_426_165_368L);
    }

    @Test
    void unknownBillsAreSaidToBe() throws IOException {
        assertThat(text("fixtures/nemotron-3-latent/config.json"))
                .containsPattern("(?m)^bytes of all, 16 bits +\\? +\\?$")
                .containsPattern("(?m)^parameters active +\\? %; all are \\? x +\\?$");
        JsonNode bills = json("fixtures/nemotron-3-latent/config.json").get("bills");
        assertThat(bills.at("/bytes/16").isNull()).isTrue();
        assertThat(bills.get("stored_over_active").isNull()).isTrue();
    }

    @Test
    void veryLargeNumbersAreShort() {
        assertThat(InspectBills.number(BigInteger.TEN.pow(20))).isEqualTo("100,000,000,000,000,000,000");
        assertThat(InspectBills.number(BigInteger.TEN.pow(1000))).isEqualTo("1.000e+1000");
    }

    /** One token of OLMoE: two operations for each number of router and 8 experts, which are read in 2 bytes each. */
    @Test
    void tokensTogetherAskForOperationsAndBytes() throws IOException {
        String path = RESOURCES.resolve("released/olmoe-1b-7b.json").toString();
        Outcome table = inspect(path, "--tokens", "1,256", "--bandwidth", "20", "--peak", "100");
        assertThat(table.status()).isZero();
        assertThat(table.out())
                .containsPattern("(?m)^ +1 +8\\.0 +1\\.01e\\+08 +1\\.01e\\+08 +1\\.00 +1\\.01 +5\\.05 +memory$")
                .containsPattern("(?m)^ +256 +64\\.0 .* arithmetic$")
                .contains("one MoE layer in 16 bits, experts as if drawn uniformly\n")
                .contains("100.0 GFLOP/s and 20.0 GB/s: as long at 5.00 FLOP/byte\n");
        assertThat(table.out().lines().skip(1)).allMatch(line -> line.length() <= 80);
        JsonNode root = new ObjectMapper()
                .readTree(inspect(path, "--json", "--tokens", "1,256", "--bandwidth", "20", "--peak", "100")
                        .out());
        JsonNode one = root.at("/roofline/loads/0");
        assertThat(one.get("flops").asDouble()).isEqualTo(2 * 50_462_720.0);
        assertThat(one.get("seconds").asDouble())
                .isEqualTo(one.get("memory_seconds").asDouble());
        assertThat(one.get("memory_seconds").asDouble()).isCloseTo((2 * 50_462_720 + 8192) / 20e9, within(1e-12));
        assertThat(root.at("/roofline/ridge").asDouble()).isEqualTo(5);
        Outcome plain = inspect(path, "--tokens", "8");
        assertThat(plain.out())
                .containsPattern("(?m)^ +8 +42\\.0 +8\\.07e\\+08 ")
                .doesNotContain("ms bytes", "GFLOP/s");
        assertThat(new ObjectMapper()
                        .readTree(inspect(path, "--json", "--tokens", "8").out())
                        .at("/roofline/loads/0")
                        .has("bound"))
                .isFalse();
    }

    @Test
    void theTypeOfTheConfigurationIsRead() throws IOException {
        String released = Files.readString(RESOURCES.resolve("released/olmoe-1b-7b.json"));
        Path file = temporary.resolve("config.json");
        for (String type : List.of("float32", "float64")) {
            Files.writeString(file, released.replaceFirst("bfloat16", type));
            assertThat(inspect(file.toString(), "--tokens", "1").out())
                    .contains("one MoE layer in " + type.substring(5) + " bits");
        }
    }

    @Test
    void limitsOfAMachineComeTogether() {
        String path = RESOURCES.resolve("released/olmoe-1b-7b.json").toString();
        for (String[] wrong : new String[][] {
            {path, "--bandwidth", "20"},
            {path, "--tokens", "1", "--peak", "20"},
            {path, "--bandwidth", "20", "--peak", "1"},
            {path, "--tokens", "1", "--bandwidth", "0", "--peak", "1"},
            {path, "--tokens", "-1"},
            {path, "--tokens", "many"}
        }) {
            Outcome outcome = inspect(wrong);
            assertThat(outcome.status()).as(String.join(" ", wrong)).isEqualTo(2);
            assertThat(outcome.out()).isEmpty();
            assertThat(outcome.err()).startsWith("moe: ");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "released/olmoe-1b-7b.json",
                "released/deepseek-v3.json",
                "released/qwen3-30b-a3b.json",
                "fixtures/nemotron-3-latent/config.json",
                "fixtures/deepseek-v3"
            })
    void linesFitIntoATerminal(String path) {
        assertThat(text(path).lines().skip(1)).allMatch(line -> line.length() <= 80);
    }

    @Test
    void aConfigurationThatIsNotThereFails() {
        fails(temporary.resolve("no").toString(), "/no: expected a config.json but found none");
        fails(temporary.toString(), ": expected a config.json but found none");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"{", "[]", "{\"model_type\": \"llama\"}", "{\"model_type\": \"qwen3_moe\", \"num_experts\": 0}"})
    void aConfigurationThatIsNoneFails(String text) throws IOException {
        Path file = Files.writeString(temporary.resolve("config.json"), text);
        fails(file.toString(), "expected");
    }

    /** A few words of text may not ask for gigabytes. */
    @Test
    void moreExpertsThanAnyModelHasFail() throws IOException {
        String text = Files.readString(RESOURCES.resolve("released/mixtral-8x7b.json"));
        Path file = temporary.resolve("config.json");
        for (int experts : new int[] {4097, 500_000, 10_000_000}) {
            Files.writeString(file, text.replace("\"num_local_experts\": 8", "\"num_local_experts\": " + experts));
            fails(
                    file.toString(),
                    "config.json: num_local_experts or num_experts (experts.count): expected at most 4096 for a prediction but was "
                            + experts);
        }
    }

    @Test
    void aBrokenFileOfTensorsFails() throws IOException {
        Files.copy(RESOURCES.resolve("fixtures/olmoe/config.json"), temporary.resolve("config.json"));
        Files.writeString(temporary.resolve("model.safetensors"), "no header");
        fails(temporary.toString(), "model.safetensors");
    }

    private static void fails(String path, String message) {
        Outcome outcome = inspect(path);
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.err().lines()).hasSize(1);
        assertThat(outcome.err()).startsWith("moe: ").contains(message);
        assertThat(inspect(path, "--debug").err()).contains("\tat ");
    }

    @Test
    void aPathHasToBeGiven() {
        Outcome outcome = inspect();
        assertThat(outcome.status()).isEqualTo(2);
        assertThat(outcome.err()).startsWith("moe: Missing required parameter: 'PATH'");
        Outcome empty = inspect("");
        assertThat(empty.status()).isEqualTo(2);
        assertThat(empty.err()).startsWith("moe: PATH: expected a path but was empty");
    }

    @Test
    void rangesJoinWhatFollows() {
        assertThat(InspectText.ranges(new TreeSet<>())).isEqualTo("none");
        assertThat(InspectText.ranges(new TreeSet<>(List.of(0, 1, 2, 5, 7, 8)))).isEqualTo("0-2, 5, 7-8");
    }

    @Test
    void bytesHaveTheUnitThatFits() {
        assertThat(InspectText.bytes(OptionalLong.empty())).isEqualTo("?");
        assertThat(InspectText.bytes(OptionalLong.of(1023))).isEqualTo("1023 B");
        assertThat(InspectText.bytes(OptionalLong.of(1024))).isEqualTo("1.00 KiB");
        assertThat(InspectText.bytes(OptionalLong.of(13_838_323_712L))).isEqualTo("12.89 GiB");
        assertThat(InspectText.bytes(OptionalLong.of(1L << 51))).isEqualTo("2048.00 TiB");
    }
}
