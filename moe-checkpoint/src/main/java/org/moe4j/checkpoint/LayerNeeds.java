package org.moe4j.checkpoint;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.layout.Sizes;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;

/**
 * What a layer of a preset consists of.
 *
 * @param preset the layer's settings
 * @param parts all it has to have
 * @param sizes of these
 */
public record LayerNeeds(Preset preset, Set<LayerPart> parts, Sizes sizes) {
    /**
     * What the MoE layers of a model consist of.
     *
     * @param layout of the family
     * @param config of the model
     * @return parts and sizes
     * @throws IllegalArgumentException for settings that do not go together; it names the configuration
     */
    public static LayerNeeds of(Layout layout, ModelConfig config) {
        try {
            return of(layout.preset(config));
        } catch (IllegalArgumentException refused) {
            throw layout.inWordsOf(config, refused);
        }
    }

    private static LayerNeeds of(Preset preset) {
        ExpertShape routed = ExpertShape.routed(preset);
        List<ExpertShape> shared = ExpertShape.shared(preset);
        RouterConfig router = RouterConfig.from(preset);
        Set<LayerPart> parts = new LinkedHashSet<>();
        parts.add(LayerPart.ROUTER_WEIGHT);
        if (router.logitBias()) {
            parts.add(LayerPart.ROUTER_BIAS);
        }
        if (router.selectionBias()) {
            parts.add(LayerPart.SELECTION_BIAS);
        }
        parts.addAll(routed(routed).values());
        if (ExpertShape.latentSize(preset).isPresent()) {
            parts.add(LayerPart.LATENT_DOWN);
            parts.add(LayerPart.LATENT_UP);
        }
        int sharedWidth = 0;
        if (!shared.isEmpty()) {
            parts.addAll(shared(shared.get(0)).values());
            sharedWidth = shared.get(0).intermediateSize();
        }
        if (preset.section("merge").text("convention", "").equals("sigmoid-gated")) {
            parts.add(LayerPart.MERGE_GATE);
        }
        return new LayerNeeds(
                preset,
                parts,
                new Sizes(
                        routed.count(),
                        ExpertShape.tokenWidth(preset),
                        routed.hiddenSize(),
                        routed.intermediateSize(),
                        sharedWidth));
    }

    /** The parts of a routed expert by the names that its parameters have. */
    static Map<String, LayerPart> routed(ExpertShape shape) {
        Map<String, LayerPart> parts = new LinkedHashMap<>();
        for (BankPart part : BankPart.of(shape.activation(), shape.biases())) {
            parts.put(
                    part.key(),
                    switch (part) {
                        case GATE -> LayerPart.GATE;
                        case UP -> LayerPart.UP;
                        case DOWN -> LayerPart.DOWN;
                        case GATE_BIAS -> LayerPart.GATE_BIAS;
                        case UP_BIAS -> LayerPart.UP_BIAS;
                        case DOWN_BIAS -> LayerPart.DOWN_BIAS;
                    });
        }
        return parts;
    }

    /** The parts of the shared expert; no family has biases there. */
    static Map<String, LayerPart> shared(ExpertShape shape) {
        Map<String, LayerPart> parts = new LinkedHashMap<>();
        for (BankPart part : BankPart.of(shape.activation(), shape.biases())) {
            parts.put(
                    part.key(),
                    switch (part) {
                        case GATE -> LayerPart.SHARED_GATE;
                        case UP -> LayerPart.SHARED_UP;
                        case DOWN -> LayerPart.SHARED_DOWN;
                        case GATE_BIAS, UP_BIAS, DOWN_BIAS ->
                            throw new IllegalArgumentException(
                                    "shared: expected an expert without biases but was " + shape);
                    });
        }
        return parts;
    }
}
