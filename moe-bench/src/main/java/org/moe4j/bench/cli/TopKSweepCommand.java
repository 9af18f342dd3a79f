package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.bench.peers.LayerSize;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.sweep.TopKSweep;
import org.moe4j.bench.sweep.TopKSweepPage;
import org.moe4j.bench.sweep.TopKSweepPicture;
import org.moe4j.bench.sweep.TopKSweepResult;
import org.moe4j.bench.sweep.TopKSweepRun;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** {@code moe bench topk-sweep}: the same weights with more and more experts for each token. */
@Command(
        name = "topk-sweep",
        description = {
            "What more experts for each token cost: one layer of the same weights with K = 1, 2, 4, … E, called in turn, after"
                    + " a check against plain loops. It is a layer and no model: attention and head are not in its times.",
            "Prints milliseconds, their ratio to the layer's own K, that of the experts' arithmetic, and the bytes of weights"
                    + " touched and resident; writes topk-sweep.csv, .md, .svg and .png. Needs up to 6 GB and a quiet machine."
        })
final class TopKSweepCommand implements Callable<Integer> {
    private static final String NAME = "topk-sweep";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @ParentCommand
    private BenchCommand bench = new BenchCommand();

    @Option(
            names = "--top-k",
            paramLabel = "K",
            split = ",",
            description = "Experts of a token, beside the layer's own K (default: 1, 2, 4, … and E).")
    private List<Integer> topKs = List.of();

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "94",
            description = "Tokens of a call (default: ${DEFAULT-VALUE}).")
    private int tokens;

    @Option(
            names = "--preset",
            paramLabel = "NAME|D,F,E,K",
            defaultValue = "olmoe-1b-7b",
            description =
                    "Sizes of the layer: those of a preset's routed experts, widths halved until 6 GB hold them in single"
                            + " precision, or four numbers; the router is softmax and top-K whatever the preset says"
                            + " (default: ${DEFAULT-VALUE}).")
    private String size = "";

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            defaultValue = "vector-bf16",
            description = "vector, vector-bf16 or nd4j (default: ${DEFAULT-VALUE}).")
    private String backend = "";

    @Option(names = "--quick", description = "Three calls of each K instead of eleven: to try it, not to quote it.")
    private boolean quick;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Folder for the files (default: moe-bench/target/topk-sweep).")
    private @Nullable Path out;

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of the table.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        bench.requireNothingBefore(spec);
        if (out != null && out.toString().isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--out: expected a folder but was empty");
        }
        TopKSweep sweep = sweep();
        OutputFolder folder = OutputFolder.open(
                out == null ? StudyOutput.defaultFolder().resolveSibling(NAME) : out); // before the work
        TopKSweepResult result = TopKSweepRun.measure(sweep);
        print(result, write(folder, result));
        return 0;
    }

    private TopKSweep sweep() {
        LayerSize layer = PeersCommand.layer(spec, size);
        try {
            List<Integer> wanted = topKs.isEmpty() ? TopKSweep.allPowers(layer) : topKs;
            return new TopKSweep(LayerKind.named(backend), layer, tokens, wanted, quick);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--" + e.getMessage(), e);
        }
    }

    private static List<Path> write(OutputFolder folder, TopKSweepResult result) throws IOException {
        return ResultFiles.write(
                folder,
                NAME,
                TopKSweepPage.csv(result),
                TopKSweepPage.markdown(result, NAME + ".svg"),
                TopKSweepPicture.of(result));
    }

    private void print(TopKSweepResult result, List<Path> files) throws IOException {
        PrintWriter writer = spec.commandLine().getOut();
        if (json) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            writer.println(mapper.writeValueAsString(json(mapper, result, files)));
        } else {
            writer.print(TopKSweepPage.rounded(result).aligned());
            writer.println();
            writer.println(TopKSweepPage.legend(result));
            files.forEach(file -> writer.println("Wrote " + file));
        }
        writer.flush();
    }

    private static ObjectNode json(ObjectMapper mapper, TopKSweepResult result, List<Path> files) {
        TopKSweep sweep = result.sweep();
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.set("machine", mapper.valueToTree(result.machine()));
        root.put("measures", "one layer, no model");
        root.put("backend", sweep.kind().text());
        root.put("hidden_size", sweep.size().hiddenSize());
        root.put("intermediate_size", sweep.size().intermediateSize());
        root.put("experts", sweep.size().experts());
        root.put("top_k", sweep.size().topK());
        root.put("tokens", sweep.tokens());
        root.put("bytes_resident", result.resident());
        ArrayNode rows = root.putArray("rows");
        for (TopKSweepResult.Row row : result.rows()) {
            rows.addObject()
                    .put("top_k", row.topK())
                    .put("median_ms", row.times().median())
                    .put("min_ms", row.times().minimum())
                    .put("ratio", result.ratio(row))
                    .put("ratio_of_minima", result.ratioOfMinima(row))
                    .put("arithmetic_ratio", result.arithmetic(row))
                    .put("experts_touched", row.experts())
                    .put("bytes_touched", result.touched(row))
                    .put("calls", row.times().nanoseconds().size());
        }
        ArrayNode written = root.putArray("files");
        files.forEach(file -> written.add(file.toString()));
        return root;
    }
}
