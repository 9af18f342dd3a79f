package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.moe4j.bench.support.Table;
import org.moe4j.router.analysis.bill.LayerBill;
import org.moe4j.router.analysis.bill.NumberType;
import org.moe4j.router.analysis.bill.Roofline;
import org.moe4j.router.analysis.bill.Roofline.Load;

/**
 * What {@code moe inspect} says of tokens that go through one MoE layer together.
 *
 * @param loads one for each number of tokens
 * @param type of weights and tokens
 * @param machine its limits, where they were given
 */
record InspectRoofline(List<Load> loads, NumberType type, Optional<Roofline> machine) {
    private static final double GIGA = 1e9;

    static InspectRoofline of(Inspection inspection, List<Long> tokens, Optional<Roofline> machine) {
        LayerBill layer = LayerBill.of(inspection.preset());
        NumberType type =
                switch (inspection.elementType().orElse("")) {
                    case "float64" -> NumberType.FLOAT64;
                    case "float32" -> NumberType.FLOAT32;
                    default -> NumberType.BITS16;
                };
        List<Load> loads = tokens.stream()
                .map(count -> Load.ofIndependentUniform(layer, count, type, type))
                .toList();
        return new InspectRoofline(loads, type, machine);
    }

    String text() {
        List<String> columns = new ArrayList<>(List.of("tokens", "experts", "FLOP", "bytes", "FLOP/byte"));
        if (machine.isPresent()) {
            columns.addAll(List.of("ms FLOP", "ms bytes", "bound"));
        }
        List<List<String>> rows = loads.stream().map(this::row).toList();
        String limits = machine.map(m -> String.format(
                        Locale.ROOT,
                        "%s GFLOP/s and %s GB/s: as long at %.2f FLOP/byte%n",
                        m.flopsPerSecond() / GIGA,
                        m.bytesPerSecond() / GIGA,
                        m.ridge()))
                .orElse("");
        return new Table(columns, 0, rows).aligned() + "one MoE layer in " + type.bits()
                + " bits, experts as if drawn uniformly\n" + limits;
    }

    private List<String> row(Load load) {
        List<String> row = new ArrayList<>(List.of(
                String.format(Locale.ROOT, "%,d", load.tokens()),
                format("%.1f", load.distinctExperts()),
                format("%.2e", load.flops()),
                format("%.2e", load.bytes()),
                format("%.2f", load.intensity())));
        machine.ifPresent(m -> row.addAll(List.of(
                format("%.3g", 1e3 * m.arithmeticSeconds(load)),
                format("%.3g", 1e3 * m.memorySeconds(load)),
                m.bound(load).name().toLowerCase(Locale.ROOT))));
        return row;
    }

    private static String format(String format, double number) {
        return String.format(Locale.ROOT, format, number);
    }

    ObjectNode json() {
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("bits", type.bits());
        machine.ifPresent(m -> node.put("peak_flops", m.flopsPerSecond())
                .put("bandwidth_bytes", m.bytesPerSecond())
                .put("ridge", m.ridge()));
        ArrayNode all = node.putArray("loads");
        for (Load load : loads) {
            ObjectNode each = all.addObject()
                    .put("tokens", load.tokens())
                    .put("experts", load.distinctExperts())
                    .put("flops", load.flops())
                    .put("weight_bytes", load.weightBytes())
                    .put("activation_bytes", load.activationBytes())
                    .put("intensity", load.intensity());
            machine.ifPresent(m -> each.put("arithmetic_seconds", m.arithmeticSeconds(load))
                    .put("memory_seconds", m.memorySeconds(load))
                    .put("seconds", m.seconds(load))
                    .put("bound", m.bound(load).name().toLowerCase(Locale.ROOT)));
        }
        return node;
    }
}
