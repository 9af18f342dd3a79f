package org.moe4j.bench.hostile;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.LongToIntFunction;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.moe4j.checkpoint.CheckpointRewrite;
import org.moe4j.checkpoint.LayerNeeds;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.config.ConfigChange;
import org.moe4j.checkpoint.config.ConfigRule;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.layout.PartMatrices;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.checkpoint.trace.TraceOptions;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.merge.rewrite.Partition;
import org.moe4j.merge.rewrite.RoutedExpertSplit;
import org.moe4j.router.InheritedRows;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKPass;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.loss.GlobalBalancingLoss;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.ZLoss;
import org.moe4j.router.trace.RecordedLayer;
import org.moe4j.router.trace.RoutingTrace;

/**
 * A valid value of each type that others are made of. Tokens, experts and widths all count {@link #N}, so that what is drawn at random
 * often fits together; everything else follows by calling.
 */
final class Exemplars {
    static final int N = 4;
    private static final Path FIXTURES = Path.of("..", "moe-checkpoint", "src", "test", "resources", "fixtures");

    private final Shelf shelf;
    private final Backend backend;
    private final Path sandbox;

    private Exemplars(Shelf shelf, Backend backend, Path sandbox) {
        this.shelf = shelf;
        this.backend = backend;
        this.sandbox = sandbox;
    }

    /**
     * Puts one of each kind on a shelf.
     *
     * @param shelf gets them
     * @param backend of all matrices
     * @param sandbox an empty folder, for files
     * @throws IOException when it cannot be written to
     */
    static void put(Shelf shelf, Backend backend, Path sandbox) throws IOException {
        Exemplars exemplars = new Exemplars(shelf, backend, sandbox);
        exemplars.putKernels();
        exemplars.putLayers();
        AnalysisExemplars.put(shelf);
        exemplars.putCallbacks();
        exemplars.putFiles();
    }

    private void putKernels() {
        shelf.add(backend);
        for (int seed = 1; seed <= 4; seed++) {
            shelf.add(normal(N, N, seed));
        }
        shelf.add(normal(2 * N, N, 5));
        shelf.add(normal(1, N, 6));
        shelf.add(normal(1, 2 * N, 7));
        shelf.add(backend.buffer(N, N));
        shelf.add(FloatBuffer.wrap(new float[N * N]));
        shelf.add(RowGroups.ofSizes(1, 2, 0, 1));
        shelf.add(RowGroups.single(N));
        shelf.add(RowGroups.ofSizes(2, 2, 2, 2));
        BankWeights weights = BankWeights.swiGlu(four(31), four(35), four(39));
        Bank bank = backend.prepare(weights.share());
        shelf.add(weights);
        shelf.add(bank);
        shelf.add(bank.forward(normal(N, N, 43), new int[] {0, 1, 2, 3}, RowGroups.ofSizes(1, 2, 0, 1)));
        shelf.add(Projections.of(normal(N, N, 44), normal(N, N, 45)));
        shelf.add(Parameters.none());
    }

    private List<Matrix> four(long seed) {
        return List.of(normal(N, N, seed), normal(N, N, seed + 1), normal(N, N, seed + 2), normal(N, N, seed + 3));
    }

    private Matrix normal(int rows, int columns, long seed) {
        return Initializer.normal(0.5).draw(backend, rows, columns, seed);
    }

    private void putLayers() {
        ExpertShape shape = new ExpertShape(N, N, N);
        ExpertShape one = new ExpertShape(1, N, N);
        RouterConfig config = RouterConfig.topK(N, 2);
        TopKRouter router = TopKRouter.random(config, N, backend, 11)
                .withLosses(new ZLoss(0.01), LoadBalancingLoss.switchTransformer(0.01));
        TopKRouter biased = TopKRouter.of(config.withSelectionBias(true), normal(N, N, 12))
                .withSelectionBias(SelectionBias.of(new double[] {0.1, 0, -0.1, 0}));
        SwiGluExperts experts = SwiGluExperts.random(shape, backend, 13);
        FeedForwardExperts plain = FeedForwardExperts.random(one, backend, 14);
        MoeLayer layer = MoeLayer.of(router, experts);
        MoeLayer shared = layer.withShared(SharedBranch.of(plain, ScaledMerge.sum()));
        MoeLayer several = layer.withShared(new SharedBranch(
                List.of(SwiGluExperts.random(one, backend, 15), SwiGluExperts.random(one, backend, 16)),
                GatedMerge.random(2, N, SharedScore.SIGMOID, backend, 17)));
        MoeLayer latent = MoeLayer.of(
                biased, SwiGluExperts.random(shape, backend, 18), LatentProjections.random(N, N, backend, 19));
        Stream.of(config, config.withTopK(1), router, biased, experts, plain, layer, shared, several, latent)
                .forEach(shelf::add);
        shelf.add(layer.withShared(new SharedBranch(
                List.of(SwiGluExperts.random(one, backend, 51), SwiGluExperts.random(one, backend, 52)),
                ScaledMerge.scaled(1, 0.5))));
        shelf.add(several.shared().orElseThrow().merge());
        shelf.add(several.shared().orElseThrow().merge().parameters());
        shelf.add(plain.expert(0));
        shelf.add(experts.parameters());
        shelf.add(router.parameters());
        shelf.add(plain.parameters());
        shelf.add(ScaledMerge.sum().merge(normal(N, N, 54), normal(N, N, 55), List.of(normal(N, N, 56))));
        shelf.add(latent.latent().orElseThrow().parameters());
        shelf.add(ScaledMerge.olmo(new ActiveWidths(2, N, N)));
        shelf.add(ScaledMerge.olmo(new ActiveWidths(2, N, N)).presumption());
        shelf.add(TopKRouter.of(config.withRenormalization(new Renormalization.Sum()), normal(N, N, 53)));
        shelf.add(Partition.of(one, 2, 2));
        shelf.add(Partition.of(one, 2, 2).split(plain.expert(0)));
        shelf.add(DispatchPlan.of(Routing.of(1, 1, new int[N], new double[] {1, 1, 1, 1}), Capacity.dropless()));
        shelf.add(config.withLogitBias(true));
        shelf.add(config.withSelectionBias(true));
        InheritedRows copied = InheritedRows.of(router.withLosses(), 2);
        shelf.add(copied);
        shelf.add(RoutedExpertSplit.of(layer, 2, copied.router(), copied.weightOfCopy()));
        shelf.add(GlobalBalancingLoss.Seen.none(N));
        shelf.add(new GlobalBalancingLoss(0.01, GlobalBalancingLoss.Seen.none(N)));
        Matrix tokens = (Matrix) shelf.of(Matrix.class).get(0);
        MoePass pass = several.forward(tokens);
        shelf.add(shared.shared());
        shelf.add(several.shared());
        shelf.add(biased.route(tokens, RoutingContext.plain()));
        shelf.add(ChosenExperts.of(N, 2, N, new int[] {0, 1, 1, 2, 2, 3, 3, 0}));
        TopKPass routed = router.route(tokens, RoutingContext.plain());
        Routing routing = routed.routing();
        Admission admission = Admission.of(routing, Capacity.factor(1), List.of());
        Stream.of(pass, pass.output(), routed, routing, admission, layer.parameters(), shared.parameters())
                .forEach(shelf::add);
        shelf.add(Routing.of(N, N, new int[] {0, 1, 2, 3}, new double[] {1, 1, 1, 1}));
        shelf.add(DispatchPlan.of(admission));
        shelf.add(new ActiveWidths(2, N, N));
        shelf.add(RoutingSource.of(routing));
        shelf.add(RoutingTrace.of(Map.of("0", RecordedLayer.of(routing))));
    }

    private void putCallbacks() {
        shelf.add(new ConstantRows(0.25));
        shelf.add((BiFunction<Object, Object, Object>) (name, matrix) -> ((Matrix) matrix).share());
        shelf.add((Supplier<Object>) () -> "text");
        shelf.add((ToDoubleFunction<Object>) part -> 1);
        shelf.add((LongToIntFunction) token -> (int) (token & 1));
        shelf.add((Runnable) () -> {});
        shelf.add((CheckpointRewrite.Step) () -> {});
        shelf.add((PartMatrices) (part, expert) -> normal(N, N, expert));
        shelf.add((Numbers) (from, into, at, count) -> {});
        shelf.add((TensorContent.Source) (from, count, into) -> into.position(into.limit()));
        shelf.add(Thread.State.class);
        shelf.add(ByteBuffer.allocate(32));
        shelf.add(new ConfigChange("hidden_size", "8"));
        shelf.add(ConfigRule.parse("hidden_size"));
        shelf.add(ConfigRule.parse("sqrt num_experts / num_experts_per_tok"));
        shelf.add(Preset.named("olmoe-1b-7b").scaledTo(N, N));
        shelf.add(Preset.named("olmoe-1b-7b").section("capacity"));
        shelf.add(Preset.named("deepseek-v3"));
    }

    private void putFiles() throws IOException {
        Path checkpoint = copy("olmoe");
        Path other = copy("deepseek-v2-lite");
        Path file = checkpoint.resolve("model.safetensors");
        shelf.add(checkpoint);
        shelf.add(file);
        Path preset = sandbox.resolve("own.properties");
        Files.writeString(preset, """
                name = Own
                source = nobody
                experts.count = 4
                experts.hiddenSize = 4
                experts.intermediateSize = 4
                router.topK = 2
                router.score = softmax
                router.renormalization = none
                router.scale = 1.0
                """);
        shelf.add(preset);
        MoeCheckpoint opened = MoeCheckpoint.open(checkpoint);
        shelf.add(opened);
        shelf.add(MoeCheckpoint.open(other));
        shelf.add(SafetensorsFile.open(file));
        shelf.add(TensorStore.open(checkpoint));
        shelf.add(opened.config());
        Layout layout = Layout.of(opened.config());
        LayerNeeds needs = LayerNeeds.of(layout, opened.config());
        shelf.add(LayerTensors.find(layout, TensorStore.open(checkpoint), 0, needs.sizes(), needs.parts()));
        shelf.add(opened.layer(0, backend));
        shelf.add(normal(N, 32, 21)); // tokens of that checkpoint
        shelf.add(FileChannel.open(file));
        Path trace = sandbox.resolve("trace.safetensors");
        RoutingTrace routings = (RoutingTrace) shelf.of(RoutingTrace.class).get(0);
        TraceWriter.write(trace, routings, Map.of());
        shelf.add(trace);
        shelf.add(TraceFile.open(trace, TraceOptions.none()));
        Path logits = sandbox.resolve("logits.safetensors");
        TraceWriter.writeLogits(logits, Map.of("0", LogitSource.of(N, new double[N * N])), ElementType.F64, Map.of());
        shelf.add(TraceFile.open(logits, TraceOptions.none().withConfig(RouterConfig.topK(N, 2))));
        try (InputStream shipped = MoeCheckpoint.class.getResourceAsStream("/moe/layout/olmoe.properties")) {
            Path own = sandbox.resolve("layout.properties");
            Files.copy(shipped, own);
            shelf.add(own);
        }
    }

    private Path copy(String fixture) throws IOException {
        Path folder = Files.createDirectories(sandbox.resolve(fixture));
        for (String name : List.of("config.json", "model.safetensors")) {
            Files.copy(FIXTURES.resolve(fixture).resolve(name), folder.resolve(name));
        }
        return folder;
    }

    /** Rows of one number. */
    record ConstantRows(double value) implements RowSource {
        @Override
        public void read(int row, float[] into) {
            java.util.Arrays.fill(into, (float) value);
        }

        @Override
        public void read(int row, double[] into) {
            java.util.Arrays.fill(into, value);
        }
    }
}
