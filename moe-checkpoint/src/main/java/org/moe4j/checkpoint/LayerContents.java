package org.moe4j.checkpoint;

import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.TopKRouter;

/** Other values for the tensors of a stored layer, by the names and in the shapes that the checkpoint has for them. */
final class LayerContents {
    private final LayerTensors tensors;
    private final Set<LayerPart> parts;

    LayerContents(LayerTensors tensors, Set<LayerPart> parts) {
        this.tensors = tensors;
        this.parts = parts;
    }

    /** Those of the parts that the values name. */
    static Set<LayerPart> named(Set<LayerPart> parts, Parameters values) {
        Set<LayerPart> named = new LinkedHashSet<>(parts);
        named.removeIf(part -> !values.names().contains(NamedParts.name(part, 0)));
        return named;
    }

    /** The weights of a layer, and its selection bias. */
    List<TensorContent> of(ElementType type, MoeLayer layer) throws IOException {
        return tensors.contents("", type, (part, expert) -> partOf(layer, part, expert), parts);
    }

    /** Parameters, or their gradients: all parts but the selection bias. */
    List<TensorContent> of(String start, ElementType type, Parameters values) throws IOException {
        Set<LayerPart> parameters = new LinkedHashSet<>(parts);
        parameters.remove(LayerPart.SELECTION_BIAS);
        return tensors.contents(start, type, new NamedParts(values), parameters);
    }

    private static Matrix partOf(MoeLayer layer, LayerPart part, int expert) {
        if (part == LayerPart.SELECTION_BIAS) {
            return bias(layer);
        }
        try (Parameters all = layer.parameters()) {
            return new NamedParts(all).of(part, expert);
        }
    }

    private static Matrix bias(MoeLayer layer) {
        if (layer.router() instanceof TopKRouter router
                && router.selectionBias().isPresent()) {
            double[] values = router.selectionBias().get().values();
            return ReferenceBackend.instance().matrix(1, values.length, values);
        }
        throw Require.expected("layer", "a router with a selection bias", "one without");
    }
}
