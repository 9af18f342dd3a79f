package org.moe4j.checkpoint.census;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.checkpoint.LayerNeeds;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.Layout;

/** The census by formulas. */
final class ConfigCensus {
    private static final Map<String, Integer> BYTES = Map.of("float64", 8, "float32", 4, "bfloat16", 2, "float16", 2);

    private final ModelConfig config;
    private final LayerNeeds needs;
    private final int topK;
    private final int all;
    private final int moe;
    private final CensusLines lines;
    private final Map<Role, Count> counts = new EnumMap<>(Role.class);
    private final Map<Role, String> unknown = new EnumMap<>(Role.class);

    ConfigCensus(ModelConfig config) {
        Layout layout = Layout.of(config);
        this.config = config;
        needs = LayerNeeds.of(layout, config);
        topK = needs.preset().section("router").positive("topK");
        all = layout.layerCount(config);
        moe = layout.moeLayers(config).size();
        lines = CensusLines.of(layout, config);
    }

    /** What the numbers are said to be stored as. */
    static Optional<String> elementType(ModelConfig config) {
        return config.text("torch_dtype").or(() -> config.text("dtype"));
    }

    Census census() {
        try {
            for (LayerPart part : needs.parts()) {
                boolean routed = Role.of(part) == Role.ROUTED_EXPERTS;
                long elements = Math.multiplyExact(needs.sizes().elements(part), (long) moe);
                add(
                        Role.of(part),
                        Math.multiplyExact(
                                elements, (long) (routed ? needs.sizes().experts() : 1)),
                        Math.multiplyExact(elements, (long) (routed ? topK : 1)));
            }
            for (CensusLine line : lines.lines()) {
                int layers = !line.perLayer() ? 1 : line.role() == Role.DENSE_MLP ? all - moe : all;
                if (layers > 0 && line.in(config)) {
                    add(line, layers);
                }
            }
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(config.name() + ": expected less than 2^63 parameters but was more", e);
        }
        unknown.keySet().forEach(counts::remove);
        return new Census(counts, unknown, Optional.empty(), List.of());
    }

    private void add(CensusLine line, int layers) {
        OptionalLong elements = line.elements(lines.scope());
        if (elements.isEmpty()) {
            unknown.putIfAbsent(line.role(), line.reason(lines.scope()));
            return;
        }
        long parameters = Math.multiplyExact(elements.getAsLong(), (long) layers);
        add(line.role(), parameters, parameters);
    }

    private void add(Role role, long parameters, long active) {
        Optional<Integer> size = elementType(config).map(BYTES::get);
        OptionalLong bytes = size.isPresent()
                ? OptionalLong.of(Math.multiplyExact(parameters, (long) size.get()))
                : OptionalLong.empty();
        counts.merge(role, new Count(parameters, active, bytes), Count::plus);
    }
}
