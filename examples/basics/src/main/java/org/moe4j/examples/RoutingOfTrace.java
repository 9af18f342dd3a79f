package org.moe4j.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.checkpoint.trace.TraceOptions;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.RoutingSource;

/** What a router did, from a trace: the program writes one itself; give a file for one of yours. {@code ./moe routing} says more. */
public final class RoutingOfTrace {
    private static final int EXPERTS = 16;
    private static final int TOKENS = 200;

    private RoutingOfTrace() {}

    public static void main(String[] args) throws IOException {
        Routing drawn = drawn();
        Path file = args.length > 0 ? Path.of(args[0]) : written(drawn);
        TraceFile trace = TraceFile.open(file, TraceOptions.none());
        System.out.println(trace.tokens() + " tokens, " + trace.experts() + " experts, " + trace.topK() + " for a token");
        for (String layer : trace.layers()) {
            ExpertLoad load = ExpertLoad.of(trace.source(layer));
            BatchCollapse batches = BatchCollapse.of(trace.source(layer));
            System.out.printf(
                    "layer %s: busiest expert %d with %.2f times an even share, variation %.3f, %d idle; 8 tokens need %.1f experts%n",
                    layer, load.busiest(), load.busiestVersusEven(), load.variation(), load.idle(), batches.needed(8));
            if (args.length == 0) {
                check(drawn, load, batches);
            }
        }
    }

    private static Routing drawn() {
        double[] logits = new double[TOKENS * EXPERTS];
        Random random = new Random(1);
        for (int i = 0; i < logits.length; i++) {
            logits[i] = random.nextGaussian() + (i % EXPERTS < 3 ? 1 : 0); // three favourites
        }
        return RouterConfig.topK(EXPERTS, 4).routing(logits);
    }

    private static Path written(Routing routing) throws IOException {
        Path file = Files.createTempFile("trace", ".safetensors");
        TraceWriter.write(file, Map.of("0", RoutingSource.of(routing)), Map.of("made", "by an example"));
        return file;
    }

    /** The same, counted. */
    private static void check(Routing routing, ExpertLoad load, BatchCollapse batches) {
        int[] counts = routing.tokensPerExpert();
        double needed = 0;
        for (int from = 0; from < TOKENS; from += 8) {
            Set<Integer> experts = new HashSet<>();
            for (int t = from; t < from + 8; t++) {
                for (int rank = 0; rank < 4; rank++) {
                    experts.add(routing.expert(t, rank));
                }
            }
            needed += experts.size() / (TOKENS / 8.0);
        }
        boolean same = Math.abs(needed - batches.needed(8)) < 1e-9;
        for (int e = 0; e < EXPERTS; e++) {
            same &= counts[e] == load.count(e);
        }
        if (!same) {
            throw new IllegalStateException("the trace says something else than the routing");
        }
    }
}
