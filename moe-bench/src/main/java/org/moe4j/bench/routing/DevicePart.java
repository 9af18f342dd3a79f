package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.ToDoubleFunction;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.ExpertCopies;

/** Over how many devices the experts of a token are spread, how evenly these work, and what travels. */
final class DevicePart {
    private final Measures measures;

    private DevicePart(Measures measures) {
        this.measures = measures;
    }

    static Part of(Measures measures) {
        DevicePart part = new DevicePart(measures);
        return new Part(
                "devices",
                "Devices",
                "Arithmetic on the routing, with nothing run on devices. Contiguous: experts are dealt to devices in blocks; strided:"
                        + " expert e is on device e mod N. The distinct devices of a token's experts are counted, the mean over tokens and"
                        + " layers; uniform choice is what K experts drawn without preference would reach, and at most what"
                        + " K, or the groups that a preset keeps, allow. With copies, each device has"
                        + " room for one expert more, and the busiest experts are copied greedily, by the load of these very tokens. What"
                        + " travels is counted in vectors of D numbers for each token, by all devices together, as if no token stood on"
                        + " a device of its experts; tensor parallelism's all-reduce, in a ring, does not depend on the routing.",
                List.of(part.reached(), part.balance(), part.traffic()),
                List.of());
    }

    private Sheet reached() {
        return new Sheet(
                "devices",
                "Devices that a token reaches",
                1,
                List.of(
                        Column.plain("passage", "passage"),
                        Column.plain("devices", "devices"),
                        Column.plain("experts_each", "experts each"),
                        new Column("devices_per_token", "devices per token", Column.Form.HUNDREDTHS),
                        new Column("share_of_devices", "of all", Column.Form.PERCENT),
                        new Column("tokens_needing_all", "tokens needing all", Column.Form.PERCENT),
                        new Column("strided_devices_per_token", "strided", Column.Form.HUNDREDTHS),
                        new Column("uniform_devices_per_token", "uniform choice", Column.Form.HUNDREDTHS),
                        Column.plain("most_devices", "at most")),
                rows(this::reached));
    }

    private List<Cell> reached(Measures.OfPassage of, int index) {
        DevicePlacement placement =
                DevicePlacement.contiguous(of.passage().trace().experts(), devices(of, index));
        return List.of(
                Cell.of((long) placement.expertsOn(0)),
                Cell.of(mean(of, index, spread -> spread.contiguous().devicesPerToken())),
                Cell.of(mean(of, index, spread -> spread.contiguous().shareOfDevices())),
                Cell.of(mean(of, index, spread -> spread.contiguous().shareNeedingAll())),
                Cell.of(mean(of, index, spread -> spread.strided().devicesPerToken())),
                Cell.of(placement.expectedDevices(of.passage().trace().topK())),
                Cell.of((long) placement.mostDevices(
                        measures.settings().scoring(of.passage().trace()))));
    }

    private Sheet balance() {
        return new Sheet(
                "devices_balance",
                "Busiest device against an even share: mean over the layers, and worst of them",
                1,
                List.of(
                        Column.plain("passage", "passage"),
                        Column.plain("devices", "devices"),
                        new Column("contiguous_mean", "contiguous", Column.Form.TIMES),
                        new Column("contiguous_worst", "worst", Column.Form.TIMES),
                        new Column("strided_mean", "strided", Column.Form.TIMES),
                        new Column("strided_worst", "worst", Column.Form.TIMES),
                        new Column("copies_mean", "with copies", Column.Form.TIMES),
                        new Column("copies_worst", "worst", Column.Form.TIMES)),
                rows(DevicePart::balance));
    }

    private static List<Cell> balance(Measures.OfPassage of, int index) {
        ToDoubleFunction<LayerMeasures> contiguous =
                at(index, spread -> spread.contiguous().busiestToEven());
        ToDoubleFunction<LayerMeasures> strided =
                at(index, spread -> spread.strided().busiestToEven());
        ToDoubleFunction<LayerMeasures> copies = layer -> {
            int devices = layer.devices().get(index).contiguous().devices();
            int slots = (layer.load().experts() + devices - 1) / devices + 1;
            return ExpertCopies.greedy(layer.load().counts(), devices, slots).imbalance();
        };
        List<Cell> cells = new ArrayList<>();
        for (ToDoubleFunction<LayerMeasures> quantity : List.of(contiguous, strided, copies)) {
            cells.add(
                    Cell.of(of.layers().stream().mapToDouble(quantity).average().orElse(0)));
            cells.add(Cell.of(of.layers().stream().mapToDouble(quantity).max().orElse(0)));
        }
        return cells;
    }

    private Sheet traffic() {
        return new Sheet(
                "devices_traffic",
                "Vectors that travel for each token, in each direction of an all-to-all, and in one all-reduce",
                1,
                List.of(
                        Column.plain("passage", "passage"),
                        Column.plain("devices", "devices"),
                        new Column("per_assignment", "one for each expert", Column.Form.HUNDREDTHS),
                        new Column("per_device", "one for each device", Column.Form.HUNDREDTHS),
                        new Column("all_reduce", "tensor parallel", Column.Form.HUNDREDTHS)),
                rows((of, index) -> List.of(
                        Cell.of(of.layers().stream()
                                .mapToDouble(layer -> layer.batch().expertsPerToken())
                                .average()
                                .orElse(0)),
                        Cell.of(mean(of, index, spread -> spread.contiguous().devicesPerToken())),
                        Cell.of(2.0 * (devices(of, index) - 1)))));
    }

    private static int devices(Measures.OfPassage of, int index) {
        return of.layers().get(0).devices().get(index).contiguous().devices();
    }

    private List<List<Cell>> rows(BiFunction<Measures.OfPassage, Integer, List<Cell>> cells) {
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            for (int i = 0; i < measures.settings().devices().size(); i++) {
                List<Cell> row = new ArrayList<>(List.of(Cell.of(of.passage().name()), Cell.of((long)
                        measures.settings().devices().get(i))));
                row.addAll(cells.apply(of, i));
                rows.add(row);
            }
        }
        return rows;
    }

    private static ToDoubleFunction<LayerMeasures> at(int index, ToDoubleFunction<LayerMeasures.Spread> quantity) {
        return layer -> quantity.applyAsDouble(layer.devices().get(index));
    }

    /** All layers have the same tokens, so that the mean over layers is that over tokens and layers. */
    private static double mean(Measures.OfPassage of, int index, ToDoubleFunction<LayerMeasures.Spread> quantity) {
        return of.layers().stream().mapToDouble(at(index, quantity)).average().orElse(0);
    }
}
