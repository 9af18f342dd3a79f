package org.moe4j.bench.hostile;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.StoredTensor;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/**
 * Uses things from one thread while another closes them, in random orders, and prints what came of it. A use is right when it reads what
 * it read before anything was closed.
 */
final class CloseProbe {
    private static final int E = 4;
    private static final int D = 64; // large enough for memory that goes back to the system
    private static final int TOKENS = 300;

    private final Random random;
    private final Map<String, AutoCloseable> closables = new TreeMap<>();
    private final Map<String, Use> uses = new TreeMap<>();
    private final Map<String, Integer> before = new TreeMap<>();
    private final Map<String, Integer> outcomes;

    private interface Use {
        /** A hash of all that is read. */
        int run() throws IOException;
    }

    private CloseProbe(long seed, Map<String, Integer> outcomes) {
        random = new Random(seed);
        this.outcomes = outcomes;
    }

    /**
     * Runs so many orders.
     *
     * @param arguments their number, a seed, the folder of a checkpoint, and for the twin any word: then one thing more stays open when it
     *     is closed, and reads other numbers from then on
     * @throws Exception when something is wrong
     */
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[2]);
        Map<String, Integer> outcomes = new TreeMap<>();
        List<Backend> backends =
                List.of(Nd4jBackend.float32(), VectorBackend.float32(), Nd4jBackend.float64(), VectorBackend.float64());
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            CloseProbe probe = new CloseProbe(Long.parseLong(arguments[1]) + i, outcomes);
            probe.put(backends.get(i % backends.size()));
            probe.put(folder);
            if (arguments.length > 3) {
                AtomicInteger recycled = new AtomicInteger();
                probe.closables.put("planted", () -> recycled.set(1));
                probe.uses.put("planted", recycled::get);
            }
            probe.run();
        }
        System.out.println(outcomes);
    }

    private void put(Backend backend) {
        Matrix tokens = normal(backend, TOKENS, D, 1);
        Matrix gradient = normal(backend, TOKENS, D, 2);
        MoeLayer layer = MoeLayer.of(
                        TopKRouter.random(RouterConfig.topK(E, 2), D, backend, 3),
                        SwiGluExperts.random(new ExpertShape(E, D, D), backend, 4))
                .withShared(
                        SharedBranch.of(SwiGluExperts.random(new ExpertShape(1, D, D), backend, 5), ScaledMerge.sum()));
        MoePass pass = layer.forward(tokens);
        Matrix output = pass.output();
        Gradients gradients = pass.backward(gradient);
        Bank bank = backend.prepare(BankWeights.swiGlu(
                List.of(normal(backend, D, D, 6)),
                List.of(normal(backend, D, D, 7)),
                List.of(normal(backend, D, D, 8))));
        int[] rows = {0, 1, 2, 3, 4, 5, 6, 7};
        BankPass bankPass = bank.forward(tokens, rows, RowGroups.single(rows.length));
        Parameters parameters = layer.parameters();
        Map.of("tokens", tokens, "gradient", gradient, "output", output, "input gradient", gradients.input())
                .forEach(this::putMatrix);
        closables.putAll(Map.of("layer", layer, "pass", pass, "gradients", gradients, "bank", bank));
        closables.putAll(Map.of("bank pass", bankPass, "parameters", parameters));
        uses.put("layer apply", () -> hash(layer.apply(tokens)));
        uses.put("layer forward", () -> {
            try (MoePass own = layer.forward(tokens)) {
                return hash(own.output());
            }
        });
        uses.put("pass backward", () -> {
            try (Gradients own = pass.backward(gradient)) {
                return 31 * hash(own.input().share())
                        + hash(own.parameters().get("router.weight").share());
            }
        });
        uses.put("pass routed output", () -> hash(pass.routedOutput().toArray()));
        uses.put(
                "gradients",
                () -> hash(gradients.parameters().get("router.weight").toArray()));
        uses.put("bank apply", () -> hash(bank.apply(tokens, rows, RowGroups.single(rows.length))));
        uses.put("bank pass output", () -> hash(bankPass.output().toArray()));
        uses.put("parameters", () -> hash(parameters.get("router.weight").toArray()));
        uses.put("parameters again", () -> {
            try (Parameters own = layer.parameters()) {
                return hash(own.get("router.weight").toArray());
            }
        });
        uses.put("products", () -> hash(backend.matmulTransB(tokens, output)));
        uses.put("sums", () -> hash(backend.add(output, gradient)));
    }

    private static Matrix normal(Backend backend, int rows, int columns, long seed) {
        return Initializer.normal(0.1).draw(backend, rows, columns, seed);
    }

    private void putMatrix(String name, Matrix matrix) {
        closables.put(name, matrix);
        uses.put(name + " read", () -> hash(matrix.toArray()));
        uses.put(name + " element", () -> Double.hashCode(matrix.get(TOKENS - 1, D - 1)));
        uses.put(name + " row", () -> {
            float[] row = new float[D];
            matrix.readRows(0, 1, row);
            return Arrays.hashCode(row);
        });
        uses.put(name + " shared", () -> hash(matrix.share()));
    }

    private static int hash(double[] read) {
        return Arrays.hashCode(read);
    }

    /** Closes the matrix. */
    private static int hash(Matrix made) {
        try (made) {
            return hash(made.toArray());
        }
    }

    private static int bytes(StoredTensor tensor) {
        byte[] read = new byte[64];
        tensor.readBytes(0, read, 8);
        return Arrays.hashCode(read);
    }

    private void put(Path folder) throws IOException {
        MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
        SafetensorsFile file = SafetensorsFile.open(folder.resolve("model.safetensors"));
        TensorStore store = TensorStore.open(folder);
        String name = file.tensors().keySet().iterator().next();
        StoredTensor mapped = file.tensor(name);
        closables.putAll(Map.of("checkpoint", checkpoint, "file", file, "store", store));
        uses.put("checkpoint expert", () -> {
            try (Parameters own = checkpoint.expert(0, 0, VectorBackend.float32())) {
                return hash(own.get("up").toArray());
            }
        });
        uses.put("file tensor", () -> bytes(file.tensor(name)));
        uses.put("store tensor", () -> bytes(store.tensor(name)));
        uses.put("mapped tensor", () -> bytes(mapped));
    }

    private void run() throws InterruptedException, IOException {
        for (Map.Entry<String, Use> use : uses.entrySet()) {
            before.put(use.getKey(), use.getValue().run());
        }
        AtomicBoolean over = new AtomicBoolean();
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        Thread user = new Thread(() -> {
            List<String> names = new ArrayList<>(uses.keySet());
            Random own = new Random(random.nextLong());
            while (!over.get()) {
                use(names.get(own.nextInt(names.size())), "meanwhile ", failures);
            }
        });
        user.start();
        closeAll(failures);
        over.set(true);
        user.join();
        closeAll(failures);
        uses.keySet().forEach(name -> use(name, "", failures));
        failures.forEach(failure -> outcomes.merge("FAILURE " + failure, 1, Integer::sum));
    }

    private void closeAll(List<Throwable> failures) {
        List<AutoCloseable> order = new ArrayList<>(closables.values());
        Collections.shuffle(order, random);
        for (AutoCloseable one : order) {
            try {
                Thread.sleep(0, random.nextInt(500_000));
                one.close();
            } catch (Exception e) {
                failures.add(e);
            }
        }
    }

    private void use(String name, String when, List<Throwable> failures) {
        String outcome = "failed";
        try {
            outcome = uses.get(name).run() == before.get(name) ? "right" : "wrong";
        } catch (IllegalStateException closed) {
            outcome = "refused";
        } catch (IOException | RuntimeException | Error other) {
            failures.add(other);
        }
        if (when.isEmpty()
                && Set.of("right", "wrong").contains(outcome)
                && !Set.of("mapped tensor").contains(name)) {
            failures.add(new AssertionError(name + " is used after close"));
        }
        synchronized (outcomes) {
            outcomes.merge(when + outcome, 1, Integer::sum);
        }
    }
}
