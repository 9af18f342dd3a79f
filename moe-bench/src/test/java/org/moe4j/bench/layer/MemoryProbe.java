package org.moe4j.bench.layer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A program of its own: many forward and backward calls of one layer; prints by how many bytes resident memory grew. */
final class MemoryProbe {
    private static final int TOKENS = 64;
    private static final int SIZE = 256;
    private static final int EXPERTS = 16;

    private MemoryProbe() {}

    public static void main(String[] arguments) throws IOException {
        int warmUp = Integer.parseInt(arguments[0]);
        int calls = Integer.parseInt(arguments[1]);
        Nd4jBackend backend = Nd4jBackend.float32();
        RouterConfig config = RouterConfig.topK(EXPERTS, 2).withRenormalization(new Renormalization.Sum());
        try (MoeLayer layer = MoeLayer.of(
                                TopKRouter.random(config, SIZE, backend, 1),
                                SwiGluExperts.random(new ExpertShape(EXPERTS, SIZE, SIZE), backend, 2))
                        .withShared(SharedBranch.of(
                                SwiGluExperts.random(new ExpertShape(1, SIZE, SIZE), backend, 3),
                                ScaledMerge.olmo(new ActiveWidths(2, SIZE, SIZE))));
                Matrix dOutput = Initializer.normal(1).draw(backend, TOKENS, SIZE, 4)) {
            double sum = run(layer, backend, dOutput, 0, warmUp);
            long before = residentBytes();
            sum += run(layer, backend, dOutput, warmUp, (warmUp + calls) / 2);
            long half = residentBytes(); // in the middle
            sum += run(layer, backend, dOutput, (warmUp + calls) / 2, calls);
            System.out.println("grew " + (half - before) + " bytes, then " + (residentBytes() - half) + " from "
                    + before + ", check " + sum);
        }
    }

    /** Each call has tokens of its own, as in use. */
    private static double run(MoeLayer layer, Nd4jBackend backend, Matrix dOutput, int from, int to) {
        float[] values = new float[TOKENS * SIZE];
        double sum = 0;
        for (int call = from; call < to; call++) {
            for (int i = 0; i < values.length; i++) {
                values[i] = ((i * 31 + call) % 17 - 8) / 8f;
            }
            try (Matrix tokens = backend.matrix(TOKENS, SIZE, values);
                    MoePass pass = layer.forward(tokens);
                    Matrix output = pass.output();
                    Gradients gradients = pass.backward(dOutput)) {
                sum += output.get(0, 0) + gradients.input().get(0, 0);
            }
        }
        return sum;
    }

    private static long residentBytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IOException("/proc/self/status: expected a line VmRSS but found none");
    }
}
