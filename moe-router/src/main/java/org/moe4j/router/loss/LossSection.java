package org.moe4j.router.loss;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.DoubleFunction;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/** The section {@code losses} of a preset. */
final class LossSection {
    static final Map<String, DoubleFunction<RouterLoss>> BALANCE = Map.ofEntries(
            Map.entry("switch", LoadBalancingLoss::switchTransformer),
            Map.entry("mesh-tensorflow", LoadBalancingLoss::meshTensorFlow),
            Map.entry("lingvo", LoadBalancingLoss::lingvo),
            Map.entry("flaxformer", LoadBalancingLoss::flaxformer),
            Map.entry("transformers", LoadBalancingLoss::transformers),
            Map.entry("megatron", LoadBalancingLoss::megatron),
            Map.entry("megatron-sequence", LoadBalancingLoss::megatronSequence),
            Map.entry("olmo-core", LoadBalancingLoss::olmoCore),
            Map.entry("olmo-core-instance", LoadBalancingLoss::olmoCoreInstance),
            Map.entry("megablocks", LoadBalancingLoss::megaBlocks),
            Map.entry("deepseek-batch", LoadBalancingLoss::deepSeekBatch),
            Map.entry("deepseek-sequence", LoadBalancingLoss::deepSeekSequence),
            Map.entry("deepseek-v3", LoadBalancingLoss::deepSeekV3));
    private static final Map<String, DoubleFunction<RouterLoss>> IMPORTANCE =
            Map.of("shazeer", VariationLoss::shazeerImportance, "v-moe", VariationLoss::vMoeImportance);
    private static final Map<String, DoubleFunction<RouterLoss>> LOAD =
            Map.of("shazeer", VariationLoss::shazeerLoad, "v-moe", VariationLoss::vMoeLoad);
    private static final String COEFFICIENT = ".coefficient";
    private static final String Z_LOSS = "zLoss.coefficient";
    private static final Set<String> KEYS = Set.of(
            "loadBalancing",
            "loadBalancing.coefficient",
            Z_LOSS,
            "importance",
            "importance.coefficient",
            "load",
            "load.coefficient");

    private LossSection() {}

    static List<RouterLoss> read(Preset preset) {
        PresetSection section = preset.section("losses");
        section.rejectUnknown(KEYS);
        List<RouterLoss> losses = new ArrayList<>();
        read(section, "loadBalancing", BALANCE, losses);
        if (section.has(Z_LOSS)) {
            losses.add(section.checked("zLoss.", () -> new ZLoss(section.decimal(Z_LOSS, 0))));
        }
        read(section, "importance", IMPORTANCE, losses);
        read(section, "load", LOAD, losses);
        return List.copyOf(losses);
    }

    private static void read(
            PresetSection section, String key, Map<String, DoubleFunction<RouterLoss>> known, List<RouterLoss> losses) {
        if (!section.has(key)) {
            if (section.has(key + COEFFICIENT)) {
                throw section.wrong(key, "one of " + new TreeMap<>(known).keySet(), "absent");
            }
            return;
        }
        String name = section.text(key, "");
        DoubleFunction<RouterLoss> make = known.get(name);
        if (make == null) {
            throw section.wrong(key, "one of " + new TreeMap<>(known).keySet(), name);
        }
        if (!section.has(key + COEFFICIENT)) {
            throw section.wrong(key + COEFFICIENT, "a number of at least 0", "absent");
        }
        losses.add(section.checked(key + ".", () -> make.apply(section.decimal(key + COEFFICIENT, 0))));
    }
}
