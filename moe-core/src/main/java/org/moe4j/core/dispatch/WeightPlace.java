package org.moe4j.core.dispatch;

import org.moe4j.core.preset.Preset;

/** Where the routing weight w of an assignment multiplies; the two are different functions, since experts are not linear. */
public enum WeightPlace {
    /** What the expert returns: {@code w·f(x)}, as almost everywhere. */
    OUTPUT,
    /**
     * What the expert is given: {@code f(w·x)}, for one expert per token only. Megatron-Core with
     * {@code moe_apply_probs_on_input} ({@code NVIDIA/Megatron-LM}, {@code megatron/core/transformer/moe/experts.py}), and Llama 4
     * ({@code huggingface/transformers}, {@code models/llama4/modeling_llama4.py}).
     */
    INPUT;

    /**
     * The place of a preset, from its key {@code experts.weightPlace}.
     *
     * @param preset the model's layer
     * @return {@link #OUTPUT} when the key is absent
     */
    public static WeightPlace from(Preset preset) {
        return preset.section("experts").constant("weightPlace", WeightPlace.class, OUTPUT);
    }
}
