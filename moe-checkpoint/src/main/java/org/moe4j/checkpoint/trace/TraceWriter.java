package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.StoredRounding;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.trace.RoutingTrace;

/**
 * Writes routing traces as safetensors that {@link TraceFile} reads: the whole file, or nothing. Sources are read block by block, so
 * that a trace may be larger than memory. E stands in the metadata, as {@code moe4j.experts}.
 */
public final class TraceWriter {
    private TraceWriter() {}

    /**
     * Writes experts of tokens as {@code topk_index.<layer>}, in the shortest type that holds them: U8 for up to 256 experts.
     *
     * @param file to be written; an old one is replaced
     * @param layers by name, which agree in E, K and T; at least one layer and one token, K experts for each token
     * @param metadata texts beside them, as {@code moe4j.synthetic}
     * @throws IllegalArgumentException for layers that do not agree, or cannot be written
     * @throws IOException when the file cannot be written; the old one stays then
     */
    public static void write(Path file, Map<String, ? extends RoutingSource> layers, Map<String, String> metadata)
            throws IOException {
        write(file, layers, IndexBytes.narrowest(first(layers).experts()), metadata);
    }

    /**
     * The same in a given type.
     *
     * @param file to be written; an old one is replaced
     * @param layers by name, which agree in E, K and T; at least one layer and one token, K experts for each token
     * @param type I64, I32, I16, I8 or U8
     * @param metadata texts beside them
     * @throws IllegalArgumentException for layers that do not agree, or cannot be written
     * @throws IOException when the file cannot be written; the old one stays then
     */
    public static void write(
            Path file, Map<String, ? extends RoutingSource> layers, ElementType type, Map<String, String> metadata)
            throws IOException {
        write(file, indices(layers, type), first(layers).experts(), metadata);
    }

    /**
     * Writes a trace in memory: {@code topk_index}, {@code topk_weight} and, where they were recorded, {@code router_logits} of each layer,
     * weights and logits as F64, so that a replay from the file is that of the trace, to the last bit.
     *
     * @param file to be written; an old one is replaced
     * @param trace whose layers agree in E, K and T; at least one layer and one token, K experts for each token
     * @param metadata texts beside them
     * @throws IllegalArgumentException for layers that do not agree, or cannot be written
     * @throws IOException when the file cannot be written; the old one stays then
     */
    public static void write(Path file, RoutingTrace trace, Map<String, String> metadata) throws IOException {
        Map<String, RoutingSource> layers = new LinkedHashMap<>();
        Map<String, LogitSource> logits = new LinkedHashMap<>();
        for (String name : trace.layers()) {
            layers.put(name, trace.layer(name).source());
            trace.layer(name).logits().ifPresent(source -> logits.put(name, source));
        }
        int experts = first(layers).experts();
        List<TensorContent> tensors = new ArrayList<>(indices(layers, IndexBytes.narrowest(experts)));
        for (String name : trace.layers()) {
            tensors.add(weights(name, trace.layer(name).routing()));
        }
        if (!logits.isEmpty()) {
            tensors.addAll(logits(logits, ElementType.F64));
        }
        write(file, tensors, experts, metadata);
    }

    private static TensorContent weights(String layer, Routing routing) {
        int topK = routing.topK();
        Numbers numbers = (from, into, at, count) -> {
            for (int i = 0; i < count; i++) {
                into[at + i] = routing.weight((int) ((from + i) / topK), (int) ((from + i) % topK));
            }
        };
        List<Long> shape = List.of((long) routing.tokens(), (long) topK);
        String tensor = TraceFormat.WEIGHTS + "." + layer;
        return TensorContent.ofNumbers(tensor, ElementType.F64, shape, numbers, 1, new StoredRounding());
    }

    private static List<TensorContent> indices(Map<String, ? extends RoutingSource> layers, ElementType type) {
        RoutingSource first = first(layers);
        Require.inRange("experts", first.experts(), 1, IndexBytes.largest(type), "experts that " + type + " holds");
        List<TensorContent> tensors = new ArrayList<>();
        for (Map.Entry<String, ? extends RoutingSource> entry : layers.entrySet()) {
            String name = requireName(entry.getKey());
            RoutingSource layer = entry.getValue();
            requireSizes(name, layer.experts(), first.experts(), layer.tokens(), first.tokens());
            Require.count("layer " + name, layer.topK(), first.topK(), "experts per token, as the first layer");
            Require.inRange("layer " + name, layer.topK(), 1, layer.experts(), "experts per token");
            List<Long> shape = List.of(layer.tokens(), (long) layer.topK());
            String tensor = TraceFormat.INDICES + "." + name;
            tensors.add(new TensorContent(tensor, type, shape, new IndexBytes(name, layer, type)));
        }
        return tensors;
    }

    /**
     * Writes router logits of tokens as {@code router_logits.<layer>}, rounded to the nearest where the type is narrower.
     *
     * @param file to be written; an old one is replaced
     * @param layers by name, which agree in E and T; at least one layer and one token
     * @param type F64, F32, F16 or BF16
     * @param metadata texts beside them
     * @throws IllegalArgumentException for layers that do not agree, or logits that are not finite in the type
     * @throws IOException when the file cannot be written; the old one stays then
     */
    public static void writeLogits(
            Path file, Map<String, ? extends LogitSource> layers, ElementType type, Map<String, String> metadata)
            throws IOException {
        write(file, logits(layers, type), first(layers).experts(), metadata);
    }

    private static List<TensorContent> logits(Map<String, ? extends LogitSource> layers, ElementType type) {
        LogitSource first = first(layers);
        List<TensorContent> tensors = new ArrayList<>();
        for (Map.Entry<String, ? extends LogitSource> entry : layers.entrySet()) {
            String name = requireName(entry.getKey());
            LogitSource layer = entry.getValue();
            requireSizes(name, layer.experts(), first.experts(), layer.tokens(), first.tokens());
            List<Long> shape = List.of(layer.tokens(), (long) layer.experts());
            String tensor = TraceFormat.LOGITS + "." + name;
            tensors.add(TensorContent.ofNumbers(tensor, type, shape, new LogitNumbers(layer), 1, new StoredRounding()));
        }
        return tensors;
    }

    private static void write(Path file, List<TensorContent> tensors, int experts, Map<String, String> metadata)
            throws IOException {
        Map<String, String> all = new TreeMap<>(metadata);
        all.put(TraceFormat.EXPERTS_KEY, Integer.toString(experts));
        SafetensorsWriter.write(file, tensors, all);
    }

    private static <S> S first(Map<String, S> layers) {
        return layers.values().stream()
                .findFirst()
                .orElseThrow(() -> Require.expected("layers", "at least 1 layer", "none"));
    }

    private static String requireName(String layer) {
        if (!TraceFormat.isLayer(layer)) {
            throw Require.expected("layers", "names of letters, digits, dots, - and _", "\"" + layer + "\"");
        }
        return layer;
    }

    private static void requireSizes(String layer, int experts, int firstExperts, long tokens, long firstTokens) {
        String argument = "layer " + layer;
        Require.count(argument, experts, firstExperts, "experts, as the first layer");
        Require.count(argument, tokens, firstTokens, "tokens, as the first layer");
        Require.inRange(argument, experts, 1, TraceFormat.MOST_EXPERTS, "experts");
    }
}
