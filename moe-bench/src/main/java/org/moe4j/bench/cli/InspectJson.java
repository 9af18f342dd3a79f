package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Collection;
import java.util.OptionalLong;
import org.moe4j.checkpoint.census.Census;
import org.moe4j.checkpoint.census.Count;
import org.moe4j.checkpoint.census.InitialMerge;
import org.moe4j.merge.MergeScale;

/** What {@code moe inspect} says as one JSON object. */
final class InspectJson {
    private InspectJson() {}

    static ObjectNode of(Inspection inspection) {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.put("path", inspection.path().toString());
        root.put("family", inspection.layout().family());
        root.put("layout", inspection.layout().id());
        ObjectNode layers = root.putObject("layers");
        layers.put("count", inspection.layers());
        ArrayNode moe = layers.putArray("moe");
        inspection.moe().forEach(moe::add);
        root.putObject("sizes")
                .put("experts", inspection.sizes().experts())
                .put("top_k", inspection.topK())
                .put("hidden_size", inspection.sizes().tokenWidth())
                .put("latent_size", inspection.latent() ? inspection.sizes().latentSize() : null)
                .put("intermediate_size", inspection.sizes().intermediateSize())
                .put("shared_width", inspection.sizes().sharedWidth());
        ObjectNode settings = root.putObject("settings");
        inspection.preset().settings().forEach(settings::put);
        root.set("census", census(inspection));
        root.set("bills", InspectBills.json(inspection));
        root.set("merge", merge(inspection.merge()));
        return root;
    }

    static String text(ObjectNode root) throws IOException {
        return new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValueAsString(root);
    }

    private static ObjectNode census(Inspection inspection) {
        Census census = inspection.census();
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("from", inspection.stored().isPresent() ? "files" : "config");
        node.put("element_type", inspection.elementType().orElse(null));
        node.put("quantization", inspection.quantization().orElse(null));
        ArrayNode roles = node.putArray("roles");
        census.counts().forEach((role, count) -> roles.add(count(role.key(), count)));
        ArrayNode unknown = node.putArray("unknown");
        census.unknown()
                .forEach((role, reason) ->
                        unknown.addObject().put("role", role.key()).put("reason", reason));
        node.set("known", known(census.counted()));
        put(node, "parameters", census.parameters());
        put(node, "active_without_embedding", census.activeWithoutEmbedding());
        put(node, "active_with_embedding", census.activeWithEmbedding());
        put(node, "bytes", bytes(census));
        if (census.prediction().isPresent()) {
            node.set(
                    "further_tokens",
                    count("further_tokens", census.prediction().get()));
        } else {
            node.putNull("further_tokens");
        }
        texts(node.putArray("others"), census.others());
        ArrayNode differences = node.putArray("differences");
        inspection
                .differences()
                .forEach(difference -> differences
                        .addObject()
                        .put("role", difference.role().key())
                        .put("files", difference.stored())
                        .put("config", difference.expected()));
        return node;
    }

    /** Bytes of everything but what predicts further tokens; empty where a role is not known. */
    static OptionalLong bytes(Census census) {
        return census.unknown().isEmpty() ? census.counted().bytes() : OptionalLong.empty();
    }

    private static ObjectNode count(String role, Count count) {
        ObjectNode node = JsonNodeFactory.instance.objectNode().put("role", role);
        node.setAll(known(count));
        return node;
    }

    private static ObjectNode known(Count count) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("parameters", count.parameters())
                .put("active", count.active());
        put(node, "bytes", count.bytes());
        return node;
    }

    private static ObjectNode merge(InitialMerge merge) {
        ObjectNode node = JsonNodeFactory.instance
                .objectNode()
                .put("routed_scale", merge.routedScale())
                .put("shared_scale", merge.sharedScale());
        node.set("uniform", prediction(merge.uniform()));
        node.set(
                "normal",
                prediction(merge.normal())
                        .put("logit_spread", merge.logitSpread())
                        .put("tokens", InitialMerge.TOKENS)
                        .put("seed", InitialMerge.SEED));
        return node;
    }

    private static ObjectNode prediction(InitialMerge.Prediction prediction) {
        MergeScale scale = prediction.scale();
        return JsonNodeFactory.instance
                .objectNode()
                .put("sum_p", prediction.sumOfWeights())
                .put("sum_p_standard_error", prediction.errorOfSum())
                .put("sum_p_squared", prediction.sumOfSquares())
                .put("sum_p_squared_standard_error", prediction.errorOfSquares())
                .put("weighted_mean", scale.weightedMean())
                .put("variance_ratio", scale.varianceRatio())
                .put("rms_ratio", scale.rmsRatio())
                .put("cosine", scale.cosine());
    }

    private static void texts(ArrayNode array, Collection<String> texts) {
        texts.forEach(array::add);
    }

    private static void put(ObjectNode node, String name, OptionalLong value) {
        if (value.isPresent()) {
            node.put(name, value.getAsLong());
        } else {
            node.putNull(name);
        }
    }
}
