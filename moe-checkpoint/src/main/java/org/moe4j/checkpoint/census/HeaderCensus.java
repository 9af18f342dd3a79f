package org.moe4j.checkpoint.census;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedSet;
import org.moe4j.checkpoint.LayerNeeds;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.layout.NamePatterns;
import org.moe4j.checkpoint.layout.StoredPart;
import org.moe4j.checkpoint.safetensors.TensorInfo;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** The census by the names and headers of tensors. */
final class HeaderCensus {
    private final TensorStore store;
    private final int experts;
    private final int topK;
    private final int layers;
    private final SortedSet<Integer> moe;
    private final NamePatterns<StoredPart> parts;
    private final NamePatterns<Role> others;
    private final NamePatterns<Boolean> further;
    private final NamePatterns<Boolean> covered;
    private final Optional<String> scales;

    HeaderCensus(ModelConfig config, TensorStore store) {
        this.store = store;
        Layout layout = Layout.of(config);
        LayerNeeds needs = LayerNeeds.of(layout, config);
        experts = needs.sizes().experts();
        topK = needs.preset().section("router").positive("topK");
        layers = layout.layerCount(config);
        moe = layout.moeLayers(config);
        parts = layout.partNames();
        CensusLines lines = CensusLines.of(layout, config);
        others = new NamePatterns<>(layout.prefixes());
        lines.lines().forEach(line -> others.add(line.name(), line.role()));
        further = new NamePatterns<>(layout.prefixes());
        lines.layers().ifPresent(pattern -> further.add(pattern, false));
        lines.prediction().forEach(pattern -> further.add(pattern, true));
        covered = new NamePatterns<>(layout.prefixes());
        layout.covers().forEach(start -> covered.add(start + "*", true));
        scales = lines.scales();
    }

    /** What a tensor is for, and how many parameters are in one of its numbers. */
    private record Use(Role role, int numbers) {}

    Census census() throws IOException {
        Map<Role, Count> counts = new EnumMap<>(Role.class);
        List<String> unnamed = new ArrayList<>();
        Optional<Count> prediction = Optional.empty();
        for (String name : store.names()) {
            TensorInfo info = store.info(name);
            Use use = use(name);
            Count count = count(info, use);
            if (predicts(name)) {
                prediction = Optional.of(
                        new Count(count.parameters(), 0, count.bytes()).plus(prediction.orElse(Count.NONE)));
                continue;
            }
            counts.merge(use.role(), count, Count::plus);
            if (use.role() == Role.OTHER) {
                unnamed.add(name);
            }
        }
        counts.computeIfPresent(Role.ROUTED_EXPERTS, (role, all) -> active(all));
        return new Census(counts, Map.of(), prediction, unnamed);
    }

    /** Of the routed experts K in E are active; a file that lacks some of them is not divided evenly. */
    private Count active(Count all) {
        return new Count(all.parameters(), Math.multiplyExact(all.parameters() / experts, (long) topK), all.bytes());
    }

    private static Count count(TensorInfo info, Use use) {
        long parameters = Math.multiplyExact(info.elements(), (long) use.numbers());
        long active = use.role() == Role.OTHER ? 0 : parameters;
        return new Count(parameters, active, OptionalLong.of(info.end() - info.begin()));
    }

    /** Whether a tensor belongs to a layer behind the last one, or to what else predicts further tokens. */
    private boolean predicts(String name) {
        return further.find(name)
                .filter(found -> found.value() || found.layer().orElse(0) >= layers)
                .isPresent();
    }

    private Use use(String name) {
        if (scales.isPresent() && name.endsWith(scales.get())) {
            Use of = use(name.substring(0, name.length() - scales.get().length()));
            return new Use(of.role(), 0);
        }
        Optional<NamePatterns.Found<StoredPart>> part = parts.find(name);
        if (part.isPresent() && (inMoeLayer(part.get()) || predicts(name))) {
            StoredPart stored = part.get().value();
            return new Use(Role.of(stored.part()), stored.numbers());
        }
        return others.find(name)
                .filter(found -> !inMoeLayer(found) || !(found.value() == Role.DENSE_MLP || ofMoeLayer(name, found)))
                .map(found -> new Use(found.value(), 1))
                .orElse(new Use(Role.OTHER, 1));
    }

    private boolean inMoeLayer(NamePatterns.Found<?> found) {
        return moe.contains(found.layer().orElse(-1));
    }

    /** Whether only a star gives a role to a name that has to be a part's. */
    private boolean ofMoeLayer(String name, NamePatterns.Found<Role> found) {
        return found.open() && covered.find(name).isPresent();
    }
}
