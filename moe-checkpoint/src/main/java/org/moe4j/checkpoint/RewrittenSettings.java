package org.moe4j.checkpoint;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import org.moe4j.checkpoint.config.ConfigChange;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.Rescaling;
import org.moe4j.router.RouterConfig;

/**
 * What the operations so far have made of a configuration, and of the numbers that it belongs to.
 *
 * @param layout of the family
 * @param config after the operations
 * @param keys of the configuration whose values have changed
 * @param scale what the down projections of the routed experts are multiplied by
 * @param type of the tensors of MoE layers; empty where each keeps its own
 */
record RewrittenSettings(
        Layout layout, ModelConfig config, Set<String> keys, double scale, Optional<ElementType> type) {
    private static final String QUANTIZATION = "quantization_config";
    private static final List<String> TYPE_KEYS = List.of("torch_dtype", "dtype");

    static RewrittenSettings of(MoeCheckpoint original, List<RewriteOperation> operations) throws IOException {
        RewrittenSettings settings =
                new RewrittenSettings(original.layout(), original.config(), Set.of(), 1, Optional.empty());
        for (RewriteOperation operation : operations) {
            try {
                settings = settings.after(operation);
            } catch (IllegalArgumentException refused) {
                throw new IllegalArgumentException(
                        original.folder() + ": " + operation.name() + ": " + refused.getMessage(), refused);
            }
        }
        return settings;
    }

    private RewrittenSettings after(RewriteOperation operation) throws IOException {
        if (operation instanceof RewriteOperation.AbsorbRoutedScale) {
            return withoutRoutedScale();
        }
        if (operation instanceof RewriteOperation.ToConvention to) {
            return inConvention(to.convention());
        }
        if (operation instanceof RewriteOperation.StoreAs as) {
            return storedAs(as.type());
        }
        int width = LayerNeeds.of(layout, config).sizes().sharedWidth();
        throw expected(
                "a family that stores shared experts one by one",
                layout.family() + (width == 0 ? " without a shared expert" : ", which stores one of width " + width));
    }

    private RewrittenSettings withoutRoutedScale() throws IOException {
        ConfigChange change = layout.withoutRoutedScale()
                .orElseThrow(() -> expected("a family whose config.json has a routed scale", layout.family()));
        if (router().scale() == 1) {
            throw expected("a routed scale other than 1", "1.0; there is nothing to absorb");
        }
        return with(change);
    }

    private RewrittenSettings inConvention(String name) throws IOException {
        ScaledMerge before = merge();
        SortedMap<String, ConfigChange> known = layout.conventions();
        if (known.isEmpty()) {
            throw expected("a family whose config.json has a key for its merge convention", layout.family());
        }
        ConfigChange change = known.get(name);
        if (change == null) {
            throw expected("one of " + known.keySet() + ", which config.json of " + layout.family() + " can say", name);
        }
        RouterConfig router = router();
        if (!router.unitSum()) {
            throw expected(
                    "routing weights that sum to 1, as a convention presumes",
                    "renormalization " + preset().section("router").text("renormalization", "none"));
        }
        if (router.scale() != 1) {
            throw expected("a router without a scale", router.scale() + "; absorb-routed-scale first");
        }
        ScaledMerge wanted = named(name);
        if (wanted.routedScale() == before.routedScale() && wanted.sharedScale() == before.sharedScale()) {
            throw expected("another convention than that of the layers", name + "; there is nothing to change");
        }
        RewrittenSettings changed = with(change);
        ScaledMerge after = changed.merge();
        if (after.routedScale() != wanted.routedScale() || after.sharedScale() != wanted.sharedScale()) {
            throw expected(wanted.toString(), after + " (layout " + layout.id() + ", " + change + ")");
        }
        return changed;
    }

    private ScaledMerge named(String name) {
        ActiveWidths widths = ActiveWidths.of(preset());
        return switch (name) {
            case "olmo" -> ScaledMerge.olmo(widths);
            case "routed-unit-sum" -> ScaledMerge.routedUnitSum(widths);
            case "equal-branch-mass" -> ScaledMerge.equalBranchMass(widths);
            case "width-proportional" -> ScaledMerge.widthProportional(widths);
            default -> throw expected("a convention of a name that is known (layout " + layout.id() + ")", name);
        };
    }

    private RewrittenSettings storedAs(ElementType as) throws IOException {
        ModelConfig changed = config;
        Set<String> all = new TreeSet<>(keys);
        if (config.text(QUANTIZATION).isPresent()) {
            changed = changed.without(QUANTIZATION);
            all.add(QUANTIZATION);
        }
        for (String key : TYPE_KEYS) {
            if (as == ElementType.F32 && changed.text(key).isPresent()) {
                changed = changed.with(key, "\"float32\""); // a loader would round to what stands here
                all.add(key);
            }
        }
        return new RewrittenSettings(layout, changed, all, scale, Optional.of(as));
    }

    /** What the weights of a routed expert's output have lost has to be in its down projection. */
    private RewrittenSettings with(ConfigChange change) throws IOException {
        Set<String> all = new TreeSet<>(keys);
        all.add(change.key());
        RewrittenSettings after = new RewrittenSettings(layout, change.in(config), all, scale, type);
        if (after.merge().sharedScale() != merge().sharedScale()) {
            throw expected("the same factor of the shared expert", after.merge().toString());
        }
        double factor = merge().routedScale()
                * router().scale()
                / (after.merge().routedScale() * after.router().scale());
        return new RewrittenSettings(layout, after.config, all, new Rescaling(scale * factor).factor(), type);
    }

    private Preset preset() {
        return LayerNeeds.of(layout, config).preset();
    }

    private RouterConfig router() {
        return RouterConfig.from(preset());
    }

    private ScaledMerge merge() {
        Preset preset = preset();
        if (preset.section("merge").isEmpty()) {
            return ScaledMerge.sum();
        }
        String convention = preset.section("merge").text("convention", "");
        if (convention.equals("sigmoid-gated")) {
            throw expected(
                    "a merge of fixed factors",
                    convention + " (" + layout.family() + "); a gate depends on the tokens and is no part of a down"
                            + " projection");
        }
        return (ScaledMerge) MergeConvention.from(preset, ReferenceBackend.instance(), 0);
    }

    private static IllegalArgumentException expected(String expected, String was) {
        return new IllegalArgumentException("expected " + expected + " but was " + was);
    }
}
