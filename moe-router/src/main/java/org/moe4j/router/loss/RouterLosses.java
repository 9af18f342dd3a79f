package org.moe4j.router.loss;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.DoubleFunction;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/** Reads the section {@code losses} of a preset. */
public final class RouterLosses {
    private static final Map<String, DoubleFunction<RouterLoss>> BALANCE = Map.ofEntries(
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

    private RouterLosses() {}

    /**
     * The losses of a preset, for {@link org.moe4j.router.TopKRouter#withLosses} or for a trainer that evaluates them over all layers; a
     * router made from the preset does not have them by itself.
     *
     * <ul>
     *   <li>{@code loadBalancing}: switch, mesh-tensorflow, lingvo, flaxformer, transformers, megatron, megatron-sequence, olmo-core,
     *       olmo-core-instance, megablocks, deepseek-batch, deepseek-sequence or deepseek-v3: the factories of {@link LoadBalancingLoss};
     *       with {@code loadBalancing.coefficient}, required
     *   <li>{@code zLoss.coefficient}
     *   <li>{@code importance}: shazeer or v-moe; with {@code importance.coefficient}, required
     *   <li>{@code load}: shazeer or v-moe; with {@code load.coefficient}, required
     * </ul>
     *
     * @param preset the model's layer
     * @return in this order; none without the section
     * @throws IllegalArgumentException for an unknown key, a value that is none of the known ones, or a key that has no meaning
     *     beside the others
     */
    public static List<RouterLoss> from(Preset preset) {
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
