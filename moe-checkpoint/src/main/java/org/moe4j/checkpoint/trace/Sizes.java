package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.moe4j.core.internal.Require;
import org.moe4j.router.RouterConfig;

/**
 * The sizes in which all layers of a file agree.
 *
 * @param experts E
 * @param topK K
 * @param config by which logits become a routing; empty when all layers have indices and the options have no rule
 */
record Sizes(int experts, int topK, Optional<RouterConfig> config) {
    private static final int LONGEST_NUMBER = 9;

    /** Number of rows of all matrices. */
    static long rows(Path file, Collection<LayerRows> layers) throws IOException {
        StoredRows first = layers.iterator().next().all().get(0);
        for (LayerRows layer : layers) {
            for (StoredRows rows : layer.all()) {
                if (rows.tokens() != first.tokens()) {
                    throw TraceFormat.wrong(
                            file, rows.name(), first.tokens() + " tokens as in " + first.name(), rows.tokens());
                }
            }
        }
        return first.tokens();
    }

    static Sizes of(Path file, Collection<LayerRows> layers, Map<String, String> metadata, TraceOptions options)
            throws IOException {
        List<StoredRows> logits = rows(layers, LayerRows::logits);
        List<StoredRows> indices = rows(layers, LayerRows::indices);
        requireColumns(file, logits);
        requireColumns(file, indices);
        for (LayerRows layer : layers) {
            if (layer.weights().isPresent()) {
                requireColumns(
                        file,
                        List.of(layer.indices().orElseThrow(), layer.weights().orElseThrow()));
            }
        }
        int experts = experts(file, logits, indices, metadata, options);
        boolean allIndices = layers.stream().allMatch(layer -> layer.indices().isPresent());
        if (options.config().isPresent()) {
            RouterConfig config = options.config().get();
            if (logits.size() < layers.size()) {
                throw Require.expected(
                        "config",
                        "none for a trace without logits of all layers (" + file + ")",
                        "a rule of " + config.topK() + " of " + config.experts() + " experts");
            }
            Require.count(
                    "config",
                    config.experts(),
                    experts,
                    "experts (" + logits.get(0).name() + " of " + file + ")");
            return new Sizes(experts, config.topK(), Optional.of(config));
        }
        int topK = topK(file, indices, experts, options);
        return new Sizes(experts, topK, allIndices ? Optional.empty() : Optional.of(RouterConfig.topK(experts, topK)));
    }

    private static List<StoredRows> rows(Collection<LayerRows> layers, Function<LayerRows, Optional<StoredRows>> kind) {
        return layers.stream().map(kind).flatMap(Optional::stream).toList();
    }

    private static void requireColumns(Path file, List<StoredRows> all) throws IOException {
        for (StoredRows rows : all) {
            if (rows.columns() != all.get(0).columns()) {
                throw TraceFormat.wrong(
                        file,
                        rows.name(),
                        all.get(0).columns() + " columns as in " + all.get(0).name(),
                        rows.columns());
            }
        }
    }

    private static int experts(
            Path file,
            List<StoredRows> logits,
            List<StoredRows> indices,
            Map<String, String> metadata,
            TraceOptions options)
            throws IOException {
        Optional<Integer> known = known(file, logits, metadata);
        if (known.isPresent() && options.experts().isPresent()) {
            Require.count("experts", options.experts().getAsInt(), known.get(), "as in " + file);
        }
        if (known.isEmpty() && options.experts().isEmpty()) {
            throw Require.expected(
                    "experts",
                    "the number of experts, which " + file + " does not say,",
                    "absent",
                    "indices do not tell E");
        }
        int experts = known.orElseGet(() -> options.experts().orElseThrow());
        if (!indices.isEmpty() && indices.get(0).columns() > experts) {
            if (known.isPresent()) {
                String part = logits.isEmpty()
                        ? "metadata " + TraceFormat.EXPERTS_KEY
                        : logits.get(0).name();
                throw TraceFormat.wrong(
                        file,
                        part,
                        "at least " + indices.get(0).columns() + " experts (columns of "
                                + indices.get(0).name() + ")",
                        experts);
            }
            throw Require.expected(
                    "experts",
                    "at least " + indices.get(0).columns() + " (columns of "
                            + indices.get(0).name() + " of " + file + ")",
                    experts);
        }
        return experts;
    }

    /** What the file says, once or twice. */
    private static Optional<Integer> known(Path file, List<StoredRows> logits, Map<String, String> metadata)
            throws IOException {
        Optional<Integer> said = Optional.empty();
        if (metadata.containsKey(TraceFormat.EXPERTS_KEY)) {
            said = Optional.of(number(file, metadata.getOrDefault(TraceFormat.EXPERTS_KEY, "")));
        }
        if (logits.isEmpty()) {
            return said;
        }
        int columns = logits.get(0).columns();
        if (said.isPresent() && said.get() != columns) {
            throw TraceFormat.wrong(
                    file,
                    "metadata " + TraceFormat.EXPERTS_KEY,
                    columns + " (columns of " + logits.get(0).name() + ")",
                    said.get());
        }
        return Optional.of(columns);
    }

    private static int number(Path file, String text) throws IOException {
        boolean digits = !text.isEmpty()
                && text.length() <= LONGEST_NUMBER
                && text.chars().allMatch(c -> c >= '0' && c <= '9');
        int value = digits ? Integer.parseInt(text) : 0;
        if (value < 1 || value > TraceFormat.MOST_EXPERTS) {
            throw TraceFormat.wrong(
                    file, "metadata " + TraceFormat.EXPERTS_KEY, "1.." + TraceFormat.MOST_EXPERTS, text);
        }
        return value;
    }

    private static int topK(Path file, List<StoredRows> indices, int experts, TraceOptions options) {
        boolean needed = indices.isEmpty() || options.topK().isPresent();
        if (!needed) {
            return indices.get(0).columns();
        }
        if (options.topK().isEmpty()) {
            throw Require.expected(
                    "topK",
                    "the experts per token, which " + file + " does not say,",
                    "absent",
                    "logits do not tell K");
        }
        int topK = options.topK().getAsInt();
        if (!indices.isEmpty()) {
            Require.count(
                    "topK",
                    topK,
                    indices.get(0).columns(),
                    "as in " + indices.get(0).name() + " of " + file);
        }
        return Require.inRange("topK", topK, 1, experts, "experts of " + file);
    }
}
