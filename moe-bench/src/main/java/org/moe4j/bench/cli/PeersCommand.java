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
import java.util.NoSuchElementException;
import java.util.ServiceLoader;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.peers.LayerSize;
import org.moe4j.bench.peers.OwnBackend;
import org.moe4j.bench.peers.Pass;
import org.moe4j.bench.peers.Peer;
import org.moe4j.bench.peers.PeersPage;
import org.moe4j.bench.peers.PeersPicture;
import org.moe4j.bench.peers.PeersResult;
import org.moe4j.bench.peers.PeersRun;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** {@code moe bench peers}: our layer beside the same layer in other libraries. */
@Command(
        name = "peers",
        description = {
            "Runs the same layer, on the same weights and tokens, in our backends and in ONNX Runtime (its operator MoE) and"
                    + " PyTorch (the loop over experts), in turn in one process, after a check that all agree.",
            "Prints the times and how many times as long the peer takes; writes peers.csv, .md, .svg and .png. The peers are"
                    + " no part of a normal build: MOE_PEERS=1 makes the launcher download and use them (about 170 MB)."
        })
final class PeersCommand implements Callable<Integer> {
    private static final String NAME = "peers";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @ParentCommand
    private BenchCommand bench = new BenchCommand();

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of the table.")
    private boolean json;

    @Option(
            names = "--tokens",
            paramLabel = "T",
            split = ",",
            defaultValue = "1,8,64,256,1024",
            description = "Tokens of a call, one measurement for each (default: ${DEFAULT-VALUE}).")
    private List<Integer> tokens = List.of();

    @Option(
            names = "--preset",
            paramLabel = "NAME|D,F,E,K",
            defaultValue = "olmoe-1b-7b",
            description =
                    "Sizes of the layer: those of a preset's routed experts, widths halved until 6 GB hold them, or four"
                            + " numbers; the router is softmax and top-K whatever the preset says (default: ${DEFAULT-VALUE}).")
    private String size = "";

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            split = ",",
            defaultValue = "vector,vector-bf16,nd4j",
            description = "Which of ours: vector, vector-bf16, nd4j (default: ${DEFAULT-VALUE}).")
    private List<String> backends = List.of();

    @Option(
            names = "--gradients",
            description =
                    "Forward and backward with the gradients of tokens and all parameters, beside PyTorch's autograd.")
    private boolean gradients;

    @Option(
            names = "--threads",
            paramLabel = "N",
            description = "Threads of every implementation (default: the processors there are).")
    private int threads = Runtime.getRuntime().availableProcessors();

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Folder for the files (default: moe-bench/target/studies).")
    private @Nullable Path out;

    @Override
    public Integer call() throws Exception {
        bench.requireNothingBefore(spec);
        LayerSize layer = layer(spec, size);
        if (threads < 1) {
            throw new ParameterException(spec.commandLine(), "--threads: expected at least 1 but was " + threads);
        }
        PeersRun run = asked(layer);
        List<Peer> peers = peers();
        OutputFolder folder = OutputFolder.open(out == null ? StudyOutput.defaultFolder() : out);
        PeersResult result = run(run, peers);
        if (result.rows().isEmpty()) {
            throw new IllegalStateException(
                    "peers: expected one that can hold the layer but was none; " + String.join("; ", result.notes()));
        }
        print(result, write(folder, result));
        return 0;
    }

    private PeersRun asked(LayerSize layer) {
        List<OwnBackend> own = backends.stream().map(this::backend).distinct().toList();
        try {
            Pass pass = gradients ? Pass.FORWARD_AND_BACKWARD : Pass.FORWARD;
            return new PeersRun(
                    layer, pass, own, tokens.stream().sorted().distinct().toList(), threads);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--" + e.getMessage(), e);
        }
    }

    /** Reads the option {@code --preset}. */
    static LayerSize layer(CommandSpec spec, String size) {
        try {
            return LayerSize.parse(size);
        } catch (IllegalArgumentException | NoSuchElementException e) {
            String expected = String.valueOf(e.getMessage()).replaceFirst("^\\w+: ", ""); // what it calls the option
            throw new ParameterException(spec.commandLine(), "--preset: " + expected, e);
        }
    }

    private OwnBackend backend(String name) {
        try {
            return OwnBackend.named(name);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--" + e.getMessage(), e);
        }
    }

    private List<Peer> peers() {
        List<Peer> peers = ServiceLoader.load(Peer.class).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
        if (peers.isEmpty()) {
            throw new IllegalStateException(
                    "peers: expected ONNX Runtime and PyTorch on the class path but was neither;"
                            + " MOE_PEERS=1 ./moe bench peers downloads them (about 170 MB) and builds with the Maven profile peers");
        }
        return peers;
    }

    private static PeersResult run(PeersRun run, List<Peer> peers) throws Exception {
        try (Progress progress = Progress.start(NAME, run.measurements(peers))) {
            return run.run(peers, progress::step);
        }
    }

    private static List<Path> write(OutputFolder folder, PeersResult result) throws IOException {
        return ResultFiles.write(
                folder,
                NAME,
                PeersPage.csv(result),
                PeersPage.markdown(result, NAME + ".svg"),
                PeersPicture.of(result));
    }

    private void print(PeersResult result, List<Path> files) throws IOException {
        PrintWriter writer = spec.commandLine().getOut();
        if (json) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            writer.println(mapper.writeValueAsString(json(result, files)));
        } else {
            writer.print(PeersPage.rounded(result).aligned());
            writer.println();
            writer.println(PeersPage.legend(result));
            files.forEach(file -> writer.println("Wrote " + file));
        }
        writer.flush();
    }

    /** The facts of a run. */
    static ObjectNode json(PeersResult result, List<Path> files) {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.put("hidden_size", result.size().hiddenSize());
        root.put("intermediate_size", result.size().intermediateSize());
        root.put("experts", result.size().experts());
        root.put("top_k", result.size().topK());
        root.put("threads", result.threads());
        root.put("java", System.getProperty("java.version"));
        ArrayNode libraries = root.putArray("libraries");
        result.libraries().forEach(libraries::add);
        ArrayNode rows = root.putArray("rows");
        for (PeersResult.Row row : result.rows()) {
            rows.addObject()
                    .put("tokens", row.tokens())
                    .put("peer", row.peer())
                    .put("backend", row.backend())
                    .put("dtype", row.dtype())
                    .put("pass", result.pass().text())
                    .put("ours_ms", row.ours().median())
                    .put("peer_ms", row.theirs().median())
                    .put("ratio", row.ratio())
                    .put("ours_min_ms", row.ours().minimum())
                    .put("peer_min_ms", row.theirs().minimum())
                    .put("ratio_of_minima", row.ratioOfMinima())
                    .put("calls", row.ours().nanoseconds().size());
        }
        ArrayNode notes = root.putArray("left_out");
        result.notes().forEach(notes::add);
        ArrayNode written = root.putArray("files");
        files.forEach(file -> written.add(file.toString()));
        return root;
    }
}
