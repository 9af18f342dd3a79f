package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;
import picocli.CommandLine;

/** Small traces that are written, and what a command says of them. */
final class RoutingFixture {
    static final int EXPERTS = 12;
    static final int TOP_K = 3;
    static final int LAYERS = 4;
    static final int TOKENS = 37;

    /** By layer, token and rank. */
    static final int[][][] PROSE = draw(1);

    static final int[][][] CODE = draw(2);

    /** By layer, token and expert. */
    static final double[][][] LOGITS = drawLogits(3);

    final Path prose;
    final Path code;
    final Path logits;

    private RoutingFixture(Path prose, Path code, Path logits) {
        this.prose = prose;
        this.code = code;
        this.logits = logits;
    }

    /** What a command left behind. */
    record Outcome(int status, String out, String err) {}

    /** Writes two traces of indices and one of logits. */
    static RoutingFixture in(Path folder) throws IOException {
        Path logits = folder.resolve("logits.safetensors");
        Map<String, LogitSource> layers = new LinkedHashMap<>();
        for (int l = 0; l < LAYERS; l++) {
            layers.put(
                    "" + l,
                    LogitSource.of(
                            EXPERTS,
                            Arrays.stream(LOGITS[l])
                                    .flatMapToDouble(Arrays::stream)
                                    .toArray()));
        }
        TraceWriter.writeLogits(logits, layers, ElementType.F64, Map.of());
        return new RoutingFixture(
                indices(folder.resolve("prose.safetensors"), PROSE, Map.of()),
                indices(folder.resolve("code.safetensors"), CODE, Map.of()),
                logits);
    }

    static Path indices(Path file, int[][][] chosen, Map<String, String> metadata) throws IOException {
        Map<String, RoutingSource> layers = new LinkedHashMap<>();
        for (int l = 0; l < chosen.length; l++) {
            int[] flat = Arrays.stream(chosen[l]).flatMapToInt(Arrays::stream).toArray();
            layers.put("" + l, RoutingSource.of(Routing.of(EXPERTS, TOP_K, flat, new double[flat.length])));
        }
        TraceWriter.write(file, layers, metadata);
        return file;
    }

    /** Lower experts are likelier, so that loads differ and the last expert is rare. */
    private static int[][][] draw(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int[][][] all = new int[LAYERS][TOKENS][];
        for (int[][] layer : all) {
            for (int t = 0; t < TOKENS; t++) {
                Set<Integer> chosen = new HashSet<>();
                while (chosen.size() < TOP_K) {
                    chosen.add((int) (EXPERTS * Math.pow(random.nextDouble(), 1.0 + seed)));
                }
                layer[t] = chosen.stream().mapToInt(e -> e).toArray();
            }
        }
        return all;
    }

    private static double[][][] drawLogits(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[][][] all = new double[LAYERS][TOKENS][];
        for (double[][] layer : all) {
            for (int t = 0; t < TOKENS; t++) {
                layer[t] = random.doubles(EXPERTS, -2, 2).toArray();
            }
        }
        return all;
    }

    static Outcome routing(Object... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        List<String> all = new ArrayList<>(List.of("routing"));
        Arrays.stream(arguments).map(Object::toString).forEach(all::add);
        int status = Moe.execute(commandLine, all.toArray(String[]::new));
        return new Outcome(status, out.toString(), err.toString());
    }

    static JsonNode json(Object... arguments) throws IOException {
        List<Object> all = new ArrayList<>(Arrays.asList(arguments));
        all.add("--json");
        Outcome outcome = routing(all.toArray());
        assertThat(outcome.err()).isEmpty();
        assertThat(outcome.status()).isZero();
        return new ObjectMapper().readTree(outcome.out());
    }

    static JsonNode row(JsonNode sheet, Map<String, String> where) {
        List<JsonNode> found = new ArrayList<>();
        for (JsonNode row : sheet) {
            if (where.entrySet().stream()
                    .allMatch(wanted -> row.get(wanted.getKey()).asText().equals(wanted.getValue()))) {
                found.add(row);
            }
        }
        assertThat(found).as("rows of " + where).hasSize(1);
        return found.get(0);
    }

    static long[] counts(int[][] tokens, int from, int to) {
        long[] counts = new long[EXPERTS];
        for (int t = from; t < to; t++) {
            for (int e : tokens[t]) {
                counts[e]++;
            }
        }
        return counts;
    }
}
