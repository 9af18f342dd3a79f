package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.moe4j.bench.support.Table;
import org.moe4j.checkpoint.census.ModelBill;
import org.moe4j.router.analysis.bill.ExpertChoices;
import org.moe4j.router.analysis.bill.LayerBill;
import org.moe4j.router.analysis.bill.NumberType;

/** What {@code moe inspect} says of memory and arithmetic. */
final class InspectBills {
    private static final List<NumberType> TYPES =
            List.of(NumberType.FLOAT32, NumberType.BITS16, NumberType.BITS8, NumberType.BITS4);
    private static final int MOST_DIGITS = 24; // of a number that fits beside others on a line

    private final ModelBill bill;
    private final LayerBill layer;

    private InspectBills(Inspection inspection) {
        layer = LayerBill.of(inspection.preset());
        bill = new ModelBill(inspection.census(), layer);
    }

    static String text(Inspection inspection) {
        return new InspectBills(inspection).text();
    }

    static ObjectNode json(Inspection inspection) {
        return new InspectBills(inspection).json();
    }

    private String text() {
        List<List<String>> rows = new ArrayList<>();
        for (NumberType type : TYPES) {
            OptionalLong bytes = bill.bytes(type);
            rows.add(List.of("bytes of all, " + type.bits() + " bits", InspectText.bytes(bytes), number(bytes)));
        }
        OptionalLong without = bill.bytesWithoutRouter(NumberType.BITS16);
        rows.add(List.of("without the router, 16 bits", InspectText.bytes(without), number(without)));
        long router = bill.routerParameters();
        rows.add(List.of(
                "parameters of the router",
                percent("%.3f", bill.routerShare()) + ", "
                        + InspectText.bytes(OptionalLong.of(NumberType.BITS16.bytes(router))) + " in 16 bits",
                number(router)));
        rows.add(List.of(
                "parameters active",
                percent("%.2f", bill.activeShare()) + "; all are " + times(bill.storedOverActive()),
                number(bill.census().activeWithoutEmbedding())));
        addLayer(rows);
        return new Table(List.of("bill", "is", "number"), 2, rows).aligned() + "\n" + choices();
    }

    private void addLayer(List<List<String>> rows) {
        int experts = layer.routed().count();
        int topK = layer.topK();
        rows.add(List.of("parameters of one expert", "", number(layer.expertParameters())));
        rows.add(List.of(
                topK + " of " + experts + " experts",
                "work on a token in a layer",
                number(topK * layer.expertParameters())));
        rows.add(List.of(
                experts + " of " + experts + " experts",
                times(OptionalDouble.of(layer.expertArithmetic(experts))) + " their arithmetic",
                number(layer.routed().parameters())));
        double width = layer.hiddenSize();
        rows.add(List.of(
                "width used by a token",
                times(OptionalDouble.of(layer.widthUsed() / width)) + " D",
                number(layer.widthUsed())));
        rows.add(List.of(
                "width held by a layer",
                times(OptionalDouble.of(layer.widthHeld() / width)) + " D, "
                        + times(OptionalDouble.of(layer.capacityOverCompute())) + " the used",
                number(layer.widthHeld())));
    }

    private List<ExpertChoices> equalBudget() {
        ExpertChoices own = new ExpertChoices(
                layer.routed().count(), layer.topK(), layer.routed().intermediateSize());
        return own.atEqualBudget();
    }

    private String choices() {
        List<List<String>> rows = equalBudget().stream()
                .map(split -> List.of(
                        number(split.experts()), number(split.width()), number(split.topK()), number(split.sets())))
                .toList();
        return new Table(List.of("experts", "width", "of a token", "sets of them"), 0, rows).aligned()
                + "at equal parameters and arithmetic; without groups\n";
    }

    private ObjectNode json() {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        ObjectNode bytes = node.putObject("bytes");
        ObjectNode without = node.putObject("bytes_without_router");
        for (NumberType type : TYPES) {
            put(bytes, Integer.toString(type.bits()), bill.bytes(type));
            put(without, Integer.toString(type.bits()), bill.bytesWithoutRouter(type));
        }
        put(node, "stored_over_active", bill.storedOverActive());
        put(node, "active_share", bill.activeShare());
        put(node, "router_share", bill.routerShare());
        node.put("router_parameters", bill.routerParameters())
                .put("expert_parameters", layer.expertParameters())
                .put("layer_parameters", layer.stored())
                .put("layer_active", layer.active())
                .put("layer_flops_per_token", layer.flopsPerToken())
                .put(
                        "all_experts_arithmetic",
                        layer.expertArithmetic(layer.routed().count()))
                .put("width_used", layer.widthUsed())
                .put("width_held", layer.widthHeld())
                .put("capacity_over_compute", layer.capacityOverCompute());
        ArrayNode splits = node.putArray("equal_budget");
        equalBudget()
                .forEach(split -> splits.addObject()
                        .put("experts", split.experts())
                        .put("width", split.width())
                        .put("top_k", split.topK())
                        .put("sets", split.sets()));
        return node;
    }

    private static void put(ObjectNode node, String name, OptionalLong value) {
        if (value.isPresent()) {
            node.put(name, value.getAsLong());
        } else {
            node.putNull(name);
        }
    }

    private static void put(ObjectNode node, String name, OptionalDouble value) {
        if (value.isPresent()) {
            node.put(name, value.getAsDouble());
        } else {
            node.putNull(name);
        }
    }

    private static String number(OptionalLong number) {
        return number.isEmpty() ? "?" : number(number.getAsLong());
    }

    private static String number(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    /** All digits, or the first of very many. */
    static String number(BigInteger number) {
        return number.bitLength() <= MOST_DIGITS * 3
                ? String.format(Locale.ROOT, "%,d", number)
                : String.format(Locale.ROOT, "%.3e", new BigDecimal(number));
    }

    private static String times(OptionalDouble factor) {
        return factor.isEmpty() ? "? x" : String.format(Locale.ROOT, "%.2f x", factor.getAsDouble());
    }

    private static String percent(String format, OptionalDouble share) {
        return (share.isEmpty() ? "?" : String.format(Locale.ROOT, format, 100 * share.getAsDouble())) + " %";
    }
}
