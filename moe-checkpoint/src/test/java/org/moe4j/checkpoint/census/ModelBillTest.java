package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.LayerNeeds;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.router.analysis.bill.LayerBill;
import org.moe4j.router.analysis.bill.NumberType;

/** Bills of released models, from config.json alone; OLMoE's as LLM Architecture Refresh 5 prints them. */
class ModelBillTest {
    private static ModelBill bill(String model) throws IOException {
        ModelConfig config = PublishedTotalsTest.released(model);
        LayerNeeds needs = LayerNeeds.of(Layout.of(config), config);
        return new ModelBill(Census.of(config), LayerBill.of(needs.preset()));
    }

    @Test
    void olmoeHasThePrintedBills() throws IOException {
        ModelBill bill = bill("olmoe-1b-7b");
        assertThat(bill.census().parameters()).hasValue(6_919_161_856L);
        assertThat(bill.bytes(NumberType.BITS16)).hasValue(13_838_323_712L);
        assertThat(bill.bytes(NumberType.BITS16).orElseThrow() / 0x1p30).isCloseTo(12.89, within(0.005));
        assertThat(bill.bytes(NumberType.FLOAT32).orElseThrow() / 0x1p30).isCloseTo(25.8, within(0.05));
        assertThat(bill.bytesWithoutRouter(NumberType.BITS16)).hasValue(13_834_129_408L);
        assertThat(13_834_129_408L / 0x1p30).isCloseTo(12.88, within(0.005));
        assertThat(bill.routerParameters()).isEqualTo(2_097_152);
        assertThat(NumberType.BITS16.bytes(bill.routerParameters())).isEqualTo(4 << 20);
        assertThat(bill.routerShare().orElseThrow()).isCloseTo(0.000_30, within(0.000_005));
        assertThat(bill.storedOverActive().orElseThrow()).isCloseTo(5.87, within(0.005));
        assertThat(bill.activeShare().orElseThrow()).isCloseTo(0.1704, within(0.000_05));
        assertThat(bill.layer().expertParameters()).isEqualTo(6_291_456);
        assertThat(bill.layer().expertArithmetic(64)).isEqualTo(8);
        Map<Role, Count> counts = bill.census().counts();
        long inLayers = List.of(Role.ATTENTION, Role.ROUTER, Role.ROUTED_EXPERTS, Role.NORMS).stream()
                .mapToLong(role -> counts.get(role).parameters())
                .sum();
        assertThat((inLayers - 2048) / 16)
                .as("one layer, without the final norm")
                .isEqualTo(419_569_664);
    }

    /** What their makers call them, in billions to as many digits; the embedding counts as active. */
    @ParameterizedTest
    @CsvSource({
        "qwen3-30b-a3b, 30.5, 0.05, 3.3, 0.06",
        "deepseek-v3, 671, 0.5, 37, 0.6",
        "mixtral-8x7b, 46.7, 0.05, 12.9, 0.05",
        "olmoe-1b-7b, 6.92, 0.005, 1.28, 0.005"
    })
    void modelsHaveTheirNames(String model, double all, double near, double active, double activeNear)
            throws IOException {
        ModelBill bill = bill(model);
        assertThat(bill.census().parameters().orElseThrow() / 1e9).isCloseTo(all, within(near));
        assertThat(bill.census().activeWithEmbedding().orElseThrow() / 1e9).isCloseTo(active, within(activeNear));
    }

    /** The layer's formulas and those of the layout are two countings of the same experts. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "olmoe-1b-7b",
                "mixtral-8x7b",
                "qwen3-30b-a3b",
                "deepseek-v3",
                "deepseek-v2",
                "deepseek-v2-lite",
                "deepseek-moe-16b",
                "qwen1.5-moe",
                "gpt-oss-120b",
                "gpt-oss-20b",
                "kimi-k2"
            })
    void layersAddUpToTheCensus(String model) throws IOException {
        ModelBill bill = bill(model);
        ModelConfig config = PublishedTotalsTest.released(model);
        long layers = Layout.of(config).moeLayers(config).size();
        Map<Role, Count> counts = bill.census().counts();
        assertThat(counts.get(Role.ROUTED_EXPERTS).parameters())
                .isEqualTo(layers * bill.layer().routed().parameters());
        assertThat(bill.routerParameters()).isEqualTo(layers * bill.layer().routerParameters());
        assertThat(counts.get(Role.ROUTED_EXPERTS).active())
                .isEqualTo(layers * bill.layer().topK() * bill.layer().expertParameters());
    }

    @Test
    void whatIsNotKnownStaysUnknown() {
        Census census = new Census(Map.of(), Map.of(Role.ATTENTION, "no sizes"), Optional.empty(), List.of());
        ModelBill unknown = new ModelBill(census, LayerBill.of(4, 2, 3, 1));
        assertThat(unknown.bytes(NumberType.BITS8)).isEmpty();
        assertThat(unknown.bytesWithoutRouter(NumberType.BITS8)).isEmpty();
        assertThat(unknown.routerShare()).isEmpty();
        assertThat(unknown.activeShare()).isEmpty();
        assertThat(unknown.storedOverActive()).isEmpty();
        assertThat(unknown.routerParameters()).isZero();
        Census nothing = new Census(Map.of(), Map.of(), Optional.empty(), List.of());
        assertThat(new ModelBill(nothing, unknown.layer()).storedOverActive()).isEmpty();
    }
}
