package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.moe4j.checkpoint.Rewritten.assertConfig;
import static org.moe4j.checkpoint.Rewritten.assertKept;
import static org.moe4j.checkpoint.Rewritten.output;
import static org.moe4j.checkpoint.Rewritten.rewrite;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.checkpoint.RewriteOperation.AbsorbRoutedScale;
import org.moe4j.checkpoint.RewriteOperation.StoreAs;
import org.moe4j.checkpoint.RewriteOperation.ToConvention;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.testing.Tolerance;

/** Rewritten miniatures compute what the definition that wrote them computes. */
class CheckpointRewriteTest {
    @TempDir
    private Path folder;

    @Test
    void aScaleThatIsAPowerOfTwoIsAbsorbedWithoutRounding() throws IOException {
        Fixture fixture = Fixture.named("deepseek-v2");
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(fixture.folder(), out, new AbsorbRoutedScale());
        assertThat(report.scale()).isEqualTo(16);
        assertThat(report.rounding().rounded()).isZero();
        assertThat(report.rounding().numbers()).isEqualTo(12 * 20 * 12);
        assertThat(report.rewritten()).isEqualTo(12);
        assertThat(report.settings())
                .containsExactly(new RewriteReport.Setting("routed_scaling_factor", "16.0", "1.0"));
        assertThat(report.layers()).hasSize(1);
        FixtureTest.assertNear(output(fixture, out), fixture.expected("output"));
        assertConfig(fixture.folder(), out, "\"routed_scaling_factor\": 16.0", "\"routed_scaling_factor\": 1.0");
        assertKept(fixture.folder(), out, "model\\.layers\\.1\\.mlp\\.experts\\.[0-9]+\\.down_proj\\.weight");
        assertThat(Folders.files(folder)).containsExactly("out");
        assertThat(Folders.files(out)).containsExactly("case.json", "config.json", "model.safetensors");
    }

    /** In double nothing is lost but the last bit, so that the layers agree as far as the definition does. */
    @ParameterizedTest
    @CsvSource({
        "deepseek-v2, 16",
        "deepseek-v3, 2.5",
        "deepseek-v3-fp8, 2.5",
        "deepseek-v3-v5-fused, 2.5",
        "kimi-k2, 2.827",
        "nemotron-3-nano, 2.5",
        "nemotron-3-latent, 5"
    })
    void aScaleIsAbsorbedInDoublePrecision(String name, double scale) throws IOException {
        Fixture fixture = Fixture.named(name);
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(fixture.folder(), out, new AbsorbRoutedScale(), new StoreAs(ElementType.F64));
        assertThat(report.scale()).isEqualTo(scale);
        assertThat(report.layers()).allMatch(layer -> layer.computed() <= 1e-12 && layer.stored() <= 1e-12);
        FixtureTest.assertNear(output(fixture, out), fixture.expected("output"));
        try (MoeCheckpoint written = MoeCheckpoint.open(out)) {
            assertThat(written.preset().section("router").decimal("scale", 0)).isEqualTo(1);
        }
    }

    /** Every stored number is the nearest of its type, by a search among its neighbours. */
    @Test
    void whatIsNoPowerOfTwoIsRoundedOnceAndReported() throws IOException {
        Fixture fixture = Fixture.named("kimi-k2");
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(fixture.folder(), out, new AbsorbRoutedScale());
        long rounded = 0;
        double largest = 0;
        for (int e = 0; e < 10; e++) {
            String name = "model.layers.1.mlp.experts." + e + ".down_proj.weight";
            double[] before = Folders.values(fixture.folder(), name);
            double[] after = Folders.values(out, name);
            for (int i = 0; i < before.length; i++) {
                double wanted = before[i] * 2.827;
                double change = Math.abs(after[i] - wanted);
                int bits = Float.floatToRawIntBits((float) after[i]);
                assertThat(change)
                        .isLessThanOrEqualTo(Math.abs(Float.intBitsToFloat(bits + 0x10000) - wanted))
                        .isLessThanOrEqualTo(Math.abs(Float.intBitsToFloat(bits - 0x10000) - wanted));
                rounded += change == 0 ? 0 : 1;
                largest = Math.max(largest, wanted == 0 ? 0 : change / Math.abs(wanted));
            }
        }
        assertThat(report.rounding().numbers()).isEqualTo(10 * 28 * 10);
        assertThat(report.rounding().rounded()).isEqualTo(rounded).isPositive();
        assertThat(report.rounding().largest())
                .isCloseTo(largest, within(1e-13))
                .isLessThanOrEqualTo(0x1p-8);
        assertWithin(fixture, output(fixture, out), largest);
        assertKept(fixture.folder(), out, ".*\\.experts\\.[0-9]+\\.down_proj\\.weight");
        assertConfig(fixture.folder(), out, "\"routed_scaling_factor\": 2.827", "\"routed_scaling_factor\": 1.0");
    }

    /** No output differs by more than its down projections do: {@code Σ_k w_k · Σ_j r·|W_ij·h_j|}, token by token on plain arrays. */
    private static void assertWithin(Fixture fixture, double[] actual, double relative) throws IOException {
        double[] expected = fixture.expected("output");
        double[] tokens = fixture.expected("hidden_states");
        double[] index = fixture.expected("topk_index");
        double[] weight = fixture.expected("topk_weight");
        int width = fixture.facts().get("hidden_size").asInt();
        int inner = fixture.facts().get("expert_width").asInt();
        int k = fixture.facts().get("top_k").asInt();
        double[] bound = new double[expected.length];
        for (int slot = 0; slot < index.length; slot++) {
            int t = slot / k;
            String expert = "model.layers.1.mlp.experts." + (int) index[slot] + ".";
            double[] gate = Folders.values(fixture.folder(), expert + "gate_proj.weight");
            double[] up = Folders.values(fixture.folder(), expert + "up_proj.weight");
            double[] down = Folders.values(fixture.folder(), expert + "down_proj.weight");
            for (int j = 0; j < inner; j++) {
                double g = 0;
                double u = 0;
                for (int d = 0; d < width; d++) {
                    g += gate[j * width + d] * tokens[t * width + d];
                    u += up[j * width + d] * tokens[t * width + d];
                }
                double hidden = g / (1 + Math.exp(-g)) * u;
                for (int i = 0; i < width; i++) {
                    bound[t * width + i] += weight[slot] * relative * Math.abs(down[i * inner + j] * hidden);
                }
            }
        }
        double largest = Tolerance.maxNorm(expected);
        Arrays.setAll(bound, i -> bound[i] + 1e-12 * largest);
        Tolerance.assertWithin("output", actual, expected, bound);
    }

    @Test
    void theExpertsOfPredictionBlocksAreScaledToo() throws IOException {
        Fixture fixture = Fixture.named("deepseek-v3");
        Path out = folder.resolve("out");
        rewrite(fixture.folder(), out, new AbsorbRoutedScale(), new StoreAs(ElementType.F32));
        String name = "model.layers.2.mlp.experts.0.down_proj.weight";
        double[] before = Folders.values(fixture.folder(), name);
        double[] after = Folders.values(out, name);
        for (int i = 0; i < before.length; i++) {
            assertThat(after[i]).isEqualTo(before[i] * 2.5);
        }
    }

    @Test
    void olmoBecomesARoutedUnitSumAndComesBackBitForBit() throws IOException {
        Fixture fixture = Fixture.named("olmo-hf");
        Path sum = folder.resolve("sum");
        Path back = folder.resolve("back");
        RewriteReport report = rewrite(fixture.folder(), sum, new ToConvention("routed-unit-sum"));
        assertThat(report.scale()).isEqualTo(2);
        assertThat(report.rounding().rounded()).isZero();
        FixtureTest.assertNear(output(fixture, sum), fixture.expected("output"));
        assertConfig(fixture.folder(), sum, "\"restore_weight_scale\": true", "\"restore_weight_scale\": false");
        assertKept(fixture.folder(), sum, ".*\\.experts\\.[0-9]+\\.down_proj\\.weight");
        assertThat(rewrite(sum, back, new ToConvention("olmo")).scale()).isEqualTo(0.5);
        assertThat(Folders.tensors(back)).isEqualTo(Folders.tensors(fixture.folder()));
        assertThat(Files.readString(back.resolve("config.json")))
                .isEqualTo(Files.readString(fixture.folder().resolve("config.json")));
    }

    @Test
    void olmosScaleForAnotherNumberOfExpertsIsAbsorbed() throws IOException {
        Fixture fixture = Fixture.named("olmo-hf-sigmoid");
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(fixture.folder(), out, new AbsorbRoutedScale(), new StoreAs(ElementType.F64));
        assertThat(report.scale()).isEqualTo(Math.sqrt(4.0 / 3));
        assertThat(report.settings())
                .containsExactly(new RewriteReport.Setting("original_num_experts_per_tok", "4", "null"));
        FixtureTest.assertNear(output(fixture, out), fixture.expected("output"));
    }

    @Test
    void severalOperationsRoundEachNumberOnce() throws IOException {
        ChangedFixture changed = ChangedFixture.of("olmo-hf")
                .config(config -> config.put("num_experts_per_tok", 3).put("original_num_experts_per_tok", 4));
        Path from = changed.write(folder.resolve("from"));
        Path out = folder.resolve("out");
        RewriteReport report = rewrite(from, out, new AbsorbRoutedScale(), new ToConvention("routed-unit-sum"));
        assertThat(report.scale()).isCloseTo(3 * Math.sqrt(4.0 / 3), within(1e-15));
        String name = "model.layers.1.mlp.experts.0.down_proj.weight";
        double[] before = Folders.values(from, name);
        double[] after = Folders.values(out, name);
        for (int i = 0; i < before.length; i++) {
            assertThat(after[i]).isEqualTo((float) (before[i] * report.scale()));
        }
    }
}
