package org.moe4j.bench.jmh.loading;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorContent;

/** Checkpoints of one layer to be loaded, whose numbers are finite and otherwise without meaning. */
final class CheckpointFiles {
    static final int EXPERTS = 8;
    static final int HIDDEN = 1024;
    static final int INTERMEDIATE = 2048;

    private static final int FP8_BLOCK = 128;
    private static final int MXFP4_BLOCK = 32;
    private static final int MXFP4_ONE = 127;
    private static final int POSITIVE_PAIR = 0x77; // numbers that cancel could not be told from none
    private static final int POSITIVE_BYTE = 0x3f;
    private static final int HALVES = 0x3c00; // between 2^-7 and 2 as BF16 and as F16, with any low byte
    private static final int SINGLES = 0x3f00_0000;

    private final List<TensorContent> tensors = new ArrayList<>();

    private CheckpointFiles() {}

    /**
     * Writes a checkpoint.
     *
     * @param folder where
     * @param kind {@code F32}, {@code BF16} or {@code F16} as Mixtral has them, {@code FP8} as DeepSeek-V3, {@code MXFP4} or
     *     {@code transposed} (BF16) as gpt-oss
     */
    static void write(Path folder, String kind) throws IOException {
        CheckpointFiles files = new CheckpointFiles();
        String config =
                switch (kind) {
                    case "FP8" -> files.deepseek();
                    case "MXFP4" -> files.gptOss(true);
                    case "transposed" -> files.gptOss(false);
                    default -> files.mixtral(ElementType.valueOf(kind));
                };
        Files.writeString(
                folder.resolve("config.json"),
                "{\"num_hidden_layers\":1,\"hidden_size\":" + HIDDEN + ",\"num_experts_per_tok\":2," + config + "}");
        SafetensorsWriter.write(folder.resolve("model.safetensors"), files.tensors, Map.of());
    }

    private String mixtral(ElementType type) {
        String start = "model.layers.0.block_sparse_moe.";
        add(start + "gate.weight", type, EXPERTS, HIDDEN);
        for (int e = 0; e < EXPERTS; e++) {
            add(start + "experts." + e + ".w1.weight", type, INTERMEDIATE, HIDDEN);
            add(start + "experts." + e + ".w3.weight", type, INTERMEDIATE, HIDDEN);
            add(start + "experts." + e + ".w2.weight", type, HIDDEN, INTERMEDIATE);
        }
        return "\"model_type\":\"mixtral\",\"num_local_experts\":" + EXPERTS + ",\"intermediate_size\":" + INTERMEDIATE;
    }

    private String deepseek() {
        String start = "model.layers.0.mlp.";
        add(start + "gate.weight", ElementType.BF16, EXPERTS, HIDDEN);
        add(start + "gate.e_score_correction_bias", ElementType.F32, EXPERTS);
        for (int e = 0; e < EXPERTS; e++) {
            for (String name : List.of("gate_proj", "up_proj", "down_proj")) {
                boolean down = name.equals("down_proj");
                int rows = down ? HIDDEN : INTERMEDIATE;
                int columns = down ? INTERMEDIATE : HIDDEN;
                String weight = start + "experts." + e + "." + name + ".weight";
                add(weight, ElementType.F8_E4M3, rows, columns);
                add(weight + "_scale_inv", ElementType.F32, rows / FP8_BLOCK, columns / FP8_BLOCK);
            }
        }
        return "\"model_type\":\"deepseek_v3\",\"n_routed_experts\":" + EXPERTS + ",\"moe_intermediate_size\":"
                + INTERMEDIATE
                + ",\"first_k_dense_replace\":0,\"n_shared_experts\":0,\"n_group\":1,\"topk_group\":1,\"quantization_config\":{\"quant_method\":\"fp8\"}";
    }

    private String gptOss(boolean mxfp4) {
        String start = "model.layers.0.mlp.";
        add(start + "router.weight", ElementType.BF16, EXPERTS, HIDDEN);
        add(start + "router.bias", ElementType.BF16, EXPERTS);
        add(start + "experts.gate_up_proj_bias", ElementType.BF16, EXPERTS, 2 * INTERMEDIATE);
        add(start + "experts.down_proj_bias", ElementType.BF16, EXPERTS, HIDDEN);
        if (mxfp4) {
            add(
                    start + "experts.gate_up_proj_blocks",
                    ElementType.U8,
                    EXPERTS,
                    2 * INTERMEDIATE,
                    HIDDEN / MXFP4_BLOCK,
                    16);
            add(start + "experts.gate_up_proj_scales", ElementType.U8, EXPERTS, 2 * INTERMEDIATE, HIDDEN / MXFP4_BLOCK);
            add(start + "experts.down_proj_blocks", ElementType.U8, EXPERTS, HIDDEN, INTERMEDIATE / MXFP4_BLOCK, 16);
            add(start + "experts.down_proj_scales", ElementType.U8, EXPERTS, HIDDEN, INTERMEDIATE / MXFP4_BLOCK);
        } else {
            add(start + "experts.gate_up_proj", ElementType.BF16, EXPERTS, HIDDEN, 2 * INTERMEDIATE);
            add(start + "experts.down_proj", ElementType.BF16, EXPERTS, INTERMEDIATE, HIDDEN);
        }
        return "\"model_type\":\"gpt_oss\",\"num_local_experts\":" + EXPERTS + ",\"intermediate_size\":" + INTERMEDIATE;
    }

    private void add(String name, ElementType type, long... shape) {
        List<Long> sizes = Arrays.stream(shape).boxed().toList();
        boolean scales = name.endsWith("_scales");
        tensors.add(new TensorContent(name, type, sizes, (from, count, into) -> {
            for (long i = from; i < from + count; i++) {
                put(type, scales, (int) i, into);
            }
        }));
    }

    private static void put(ElementType type, boolean scales, int i, ByteBuffer into) {
        switch (type.bytes()) {
            case 1 ->
                into.put((byte) (scales ? MXFP4_ONE : i & (type == ElementType.U8 ? POSITIVE_PAIR : POSITIVE_BYTE)));
            case 2 -> into.putShort((short) (HALVES | (i & 0xff)));
            default -> into.putInt(SINGLES | (i & 0xffff));
        }
    }
}
