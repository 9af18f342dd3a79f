package org.moe4j.bench.routing;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.LongConsumer;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.analysis.synthetic.ExpertPopularity;
import org.moe4j.router.analysis.synthetic.SyntheticRouting;

/**
 * Traces that no model made, one for each kind of text, written token by token.
 *
 * @param tokens T of each trace, at least 1
 * @param layers by their names 0 to L - 1, at least 1
 * @param kinds popularity of the experts for each kind of text, at least one
 * @param seed of all draws: the same seed makes the same files
 * @param type in which indices are stored; empty for the shortest that holds them
 */
public record SyntheticTraces(
        long tokens, int layers, List<ExpertPopularity> kinds, long seed, Optional<ElementType> type) {
    /**
     * Copies the list.
     *
     * @param tokens T of each trace, at least 1
     * @param layers by their names 0 to L - 1, at least 1
     * @param kinds popularity of the experts for each kind of text, at least one
     * @param seed of all draws: the same seed makes the same files
     * @param type in which indices are stored; empty for the shortest that holds them
     */
    public SyntheticTraces {
        kinds = List.copyOf(kinds);
    }

    /**
     * How far the progress goes.
     *
     * @return tokens of all layers and kinds
     */
    public long steps() {
        return Math.multiplyExact(Math.multiplyExact(tokens, (long) layers), kinds.size());
    }

    /**
     * Where the traces go.
     *
     * @param out the file of the only kind, or the beginning of the names of several: {@code name-1.safetensors}, …
     * @return one file for each kind
     */
    public List<Path> files(Path out) {
        if (kinds.size() == 1) {
            return List.of(out);
        }
        String name = String.valueOf(out.getFileName());
        int dot = name.lastIndexOf('.');
        String stem = dot < 1 ? name : name.substring(0, dot);
        String ending = dot < 1 ? "" : name.substring(dot);
        List<Path> files = new ArrayList<>();
        for (int kind = 1; kind <= kinds.size(); kind++) {
            files.add(out.resolveSibling(stem + "-" + kind + ending));
        }
        return files;
    }

    /**
     * Writes them.
     *
     * @param files one for each kind, as of {@link #files}
     * @param progress is told of tokens that were written
     * @throws IOException when a file cannot be written
     */
    public void write(List<Path> files, LongConsumer progress) throws IOException {
        for (int kind = 0; kind < kinds.size(); kind++) {
            Map<String, RoutingSource> sources = new LinkedHashMap<>();
            for (int layer = 0; layer < layers; layer++) {
                sources.put(Integer.toString(layer), new Watched(source(kind, layer), progress));
            }
            Map<String, String> metadata = Map.of("moe4j.synthetic", label(kind));
            if (type.isPresent()) {
                TraceWriter.write(files.get(kind), sources, type.get(), metadata);
            } else {
                TraceWriter.write(files.get(kind), sources, metadata);
            }
        }
    }

    /** The kinds of a layer share its permutation of experts, so that their distance stays; all draws are their own. */
    private SyntheticRouting source(int kind, int layer) {
        SplittableRandom random = new SplittableRandom(seed + layer * 0x9E3779B97F4A7C15L);
        ExpertPopularity popularity = kinds.get(kind).shuffled(random.nextLong());
        long draws = 0;
        for (int i = 0; i <= kind; i++) {
            draws = random.nextLong();
        }
        return SyntheticRouting.of(popularity, tokens, draws);
    }

    private String label(int kind) {
        ExpertPopularity popularity = kinds.get(kind);
        return "synthetic, top " + popularity.topK() + " of " + popularity.experts() + " experts, "
                + "expected coefficient of variation " + rounded(popularity.variation())
                + (kinds.size() == 1 ? "" : ", kind of text " + (kind + 1) + " of " + kinds.size()) + ", seed " + seed;
    }

    private static String rounded(double value) {
        return Column.Form.FOUR_DECIMALS.number(value);
    }

    /** Tells of tokens that were read. */
    private record Watched(RoutingSource source, LongConsumer progress) implements RoutingSource {
        @Override
        public int experts() {
            return source.experts();
        }

        @Override
        public int topK() {
            return source.topK();
        }

        @Override
        public long tokens() {
            return source.tokens();
        }

        @Override
        public ChosenExperts block(long from, int count) {
            ChosenExperts block = source.block(from, count);
            progress.accept(count);
            return block;
        }
    }
}
