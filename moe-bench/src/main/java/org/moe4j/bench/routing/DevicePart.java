package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.DeviceSpread;

/** Over how many devices the experts of a token are spread. */
final class DevicePart {
    private DevicePart() {}

    static Part of(Measures measures) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("devices", "devices"),
                Column.plain("experts_each", "experts each"),
                new Column("devices_per_token", "devices per token", Column.Form.HUNDREDTHS),
                new Column("share_of_devices", "of all", Column.Form.PERCENT),
                new Column("tokens_needing_all", "tokens needing all", Column.Form.PERCENT),
                new Column("uniform_devices_per_token", "uniform choice", Column.Form.HUNDREDTHS),
                new Column("busiest_versus_even_mean", "busiest vs even", Column.Form.TIMES),
                new Column("busiest_versus_even_worst", "worst layer", Column.Form.TIMES));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            for (int i = 0; i < measures.settings().devices().size(); i++) {
                rows.add(row(of, i, measures.settings().devices().get(i)));
            }
        }
        return new Part(
                "devices",
                "Devices",
                "Arithmetic on the routing, with nothing run on devices: experts are dealt to devices in contiguous blocks, and the"
                        + " distinct devices of a token's experts are counted, the mean over tokens and layers. Uniform choice is what K"
                        + " experts drawn without preference would reach.",
                List.of(new Sheet("devices", "Devices that a token reaches", 1, columns, rows)),
                List.of());
    }

    private static List<Cell> row(Measures.OfPassage of, int index, int devices) {
        int experts = of.passage().trace().experts();
        DevicePlacement placement = DevicePlacement.contiguous(experts, devices);
        return List.of(
                Cell.of(of.passage().name()),
                Cell.of((long) devices),
                Cell.of((long) placement.expertsOn(0)),
                Cell.of(mean(of, index, DeviceSpread.Result::devicesPerToken)),
                Cell.of(mean(of, index, DeviceSpread.Result::shareOfDevices)),
                Cell.of(mean(of, index, DeviceSpread.Result::shareNeedingAll)),
                Cell.of(placement.expectedDevices(of.passage().trace().topK())),
                Cell.of(mean(of, index, DeviceSpread.Result::busiestToEven)),
                Cell.of(of.layers().stream()
                        .mapToDouble(layer -> layer.devices().get(index).busiestToEven())
                        .max()
                        .orElse(0)));
    }

    /** All layers have the same tokens, so that the mean over layers is that over tokens and layers. */
    private static double mean(Measures.OfPassage of, int index, ToDoubleFunction<DeviceSpread.Result> quantity) {
        return of.layers().stream()
                .mapToDouble(layer -> quantity.applyAsDouble(layer.devices().get(index)))
                .average()
                .orElse(0);
    }
}
