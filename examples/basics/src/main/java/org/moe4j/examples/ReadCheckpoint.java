package org.moe4j.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorContent;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;

/** Reads an MoE layer of a published form: here a tiny OLMoE that the program writes itself; give a folder for one of yours. */
public final class ReadCheckpoint {
    private static final int HIDDEN = 8;
    private static final int WIDTH = 4;
    private static final int EXPERTS = 4;

    private static final String CONFIG = """
            {"model_type": "olmoe", "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 1, "num_experts": 4,
             "num_experts_per_tok": 2, "norm_topk_prob": false, "hidden_act": "silu", "vocab_size": 16,
             "num_attention_heads": 2, "torch_dtype": "float32"}
            """;

    private ReadCheckpoint() {}

    public static void main(String[] args) throws IOException {
        double[] router = new double[EXPERTS * HIDDEN];
        Path folder = args.length > 0 ? Path.of(args[0]) : written(router);
        Backend backend = Backends.best();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
            int index = checkpoint.moeLayers().first();
            int hidden = checkpoint.preset().section("experts").integer("hiddenSize");
            float[] token = new float[hidden];
            token[0] = 1;
            try (MoeLayer layer = checkpoint.layer(index, backend);
                    Matrix tokens = backend.matrix(1, hidden, token);
                    MoePass pass = layer.forward(tokens);
                    Matrix output = pass.output()) {
                System.out.println(layer);
                System.out.println("experts " + pass.routing().expert(0, 0) + " and " + pass.routing().expert(0, 1)
                        + ", output begins with " + output.get(0, 0));
                if (args.length == 0 && pass.routing().expert(0, 0) != largest(router)) {
                    throw new IllegalStateException("the first expert is not that of the largest logit");
                }
            }
        }
    }

    /** Of a token (1, 0, 0, …), the logits are the first column. */
    private static int largest(double[] router) {
        int best = 0;
        for (int e = 1; e < EXPERTS; e++) {
            best = router[e * HIDDEN] > router[best * HIDDEN] ? e : best;
        }
        return best;
    }

    private static Path written(double[] router) throws IOException {
        Path folder = Files.createTempDirectory("tiny-olmoe");
        Files.writeString(folder.resolve("config.json"), CONFIG);
        List<TensorContent> tensors = new ArrayList<>();
        Random random = new Random(1);
        String layer = "model.layers.0.mlp.";
        tensors.add(tensor(layer + "gate.weight", EXPERTS, HIDDEN, random, router));
        for (int e = 0; e < EXPERTS; e++) {
            String expert = layer + "experts." + e + ".";
            tensors.add(tensor(expert + "gate_proj.weight", WIDTH, HIDDEN, random, new double[WIDTH * HIDDEN]));
            tensors.add(tensor(expert + "up_proj.weight", WIDTH, HIDDEN, random, new double[WIDTH * HIDDEN]));
            tensors.add(tensor(expert + "down_proj.weight", HIDDEN, WIDTH, random, new double[HIDDEN * WIDTH]));
        }
        SafetensorsWriter.write(folder.resolve("model.safetensors"), tensors, Map.of("format", "pt"));
        return folder;
    }

    private static TensorContent tensor(String name, int rows, int columns, Random random, double[] numbers) {
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (float) random.nextGaussian();
        }
        return TensorContent.of(name, ElementType.F32, rows, columns, new RowSource() {
            @Override
            public void read(int row, float[] into) {
                for (int j = 0; j < columns; j++) {
                    into[j] = (float) numbers[row * columns + j];
                }
            }

            @Override
            public void read(int row, double[] into) {
                System.arraycopy(numbers, row * columns, into, 0, columns);
            }
        });
    }
}
