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
import org.moe4j.bench.limits.LimitsPage;
import org.moe4j.bench.limits.LimitsPicture;
import org.moe4j.bench.limits.LimitsResult;
import org.moe4j.bench.limits.LimitsRun;
import org.moe4j.bench.support.OutputFolder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** {@code moe bench limits}: a layer beside the limits of the machine. */
@Command(
        name = "limits",
        description = {
            "How near a layer (D 2048, F 1024, 64 experts, 8 of them for a token) comes to the limits of the machine: its read"
                    + " bandwidth and its fastest matrix product, measured in the same run.",
            "Prints milliseconds, bytes, operations and the share of the limit for 1 to 1024 tokens on each backend; writes"
                    + " limits.csv, .md, .svg and .png. Needs 6 GB of memory for the heap and 2 beside it, and a quiet machine."
        })
final class LimitsCommand implements Callable<Integer> {
    private static final String NAME = "limits";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @ParentCommand
    private BenchCommand bench = new BenchCommand();

    @Option(names = "--quick", description = "Shorter measurements: about half a minute instead of three.")
    private boolean quick;

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Folder for the files (default: moe-bench/target/limits).")
    private @Nullable Path out;

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of the table.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        bench.requireNothingBefore(spec);
        if (out != null && out.toString().isEmpty()) {
            throw new ParameterException(spec.commandLine(), "--out: expected a folder but was empty");
        }
        OutputFolder folder = OutputFolder.open(
                out == null ? StudyOutput.defaultFolder().resolveSibling(NAME) : out); // before the work
        LimitsResult result = LimitsRun.measure(quick);
        List<Path> files = write(folder, result);
        PrintWriter writer = spec.commandLine().getOut();
        if (json) {
            writer.println(json(result, files));
        } else {
            writer.println(LimitsPage.where(result.machine()));
            writer.println(LimitsPage.limits(result));
            writer.println();
            writer.print(LimitsPage.table(result).aligned());
            writer.println();
            files.forEach(file -> writer.println("Wrote " + file));
        }
        writer.flush();
        return 0;
    }

    private static List<Path> write(OutputFolder folder, LimitsResult result) throws IOException {
        return ResultFiles.write(
                folder,
                NAME,
                LimitsPage.csv(result),
                LimitsPage.markdown(result, NAME + ".svg"),
                LimitsPicture.of(result));
    }

    private static String json(LimitsResult result, List<Path> files) throws IOException {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.set("machine", mapper.valueToTree(result.machine()));
        root.put("read_bytes_per_s", result.read());
        ObjectNode gemms = root.putObject("gemm_flop_per_s");
        result.gemms().forEach(gemm -> gemms.put(gemm.kind().text(), gemm.flops()));
        ArrayNode layers = root.putArray("layers");
        for (LimitsResult.LayerTime layer : result.layers()) {
            layers.addObject()
                    .put("backend", layer.kind().text())
                    .put("tokens", layer.tokens())
                    .put("experts", layer.experts())
                    .put("best_s", layer.best())
                    .put("median_s", layer.median())
                    .put("bytes", layer.bytes())
                    .put("flop", layer.flop())
                    .put("limit_s", result.limit(layer))
                    .put("share", result.share(layer));
        }
        ArrayNode written = root.putArray("files");
        files.forEach(file -> written.add(file.toString()));
        return mapper.writeValueAsString(root);
    }
}
