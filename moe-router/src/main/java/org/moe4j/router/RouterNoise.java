package org.moe4j.router;

import java.util.Optional;
import java.util.Set;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/**
 * Noise that a router is trained with. It acts when the {@linkplain org.moe4j.core.layer.RoutingContext context} has a noise
 * seed, and never otherwise: the plain context, and with it {@code MoeLayer.apply} of tokens alone, is without noise. The experts see
 * the clean tokens.
 *
 * <p>A random number depends on the seed and on its token and position in it, and on nothing else: not on backend, workers, JVM
 * or other tokens. Noises of one seed are independent of each other.
 */
public sealed interface RouterNoise {
    /**
     * The noise of a preset, from its section {@code noise}; the router of a preset has it when the caller adds it.
     *
     * <ul>
     *   <li>{@code kind}, required: input-jitter, fixed-normal or learned-normal
     *   <li>{@code epsilon}, required with input-jitter
     *   <li>{@code deviation} with fixed-normal: 1 unless given
     *   <li>{@code floor} with learned-normal: 0.01 unless given
     * </ul>
     *
     * @param preset the model's layer
     * @return empty without the section
     * @throws IllegalArgumentException for an unknown key, a value that is none, or a key of another kind
     */
    static Optional<RouterNoise> from(Preset preset) {
        PresetSection section = preset.section("noise");
        section.rejectUnknown(Set.of("kind", "epsilon", "deviation", "floor"));
        return section.isEmpty() ? Optional.empty() : Optional.of(read(section));
    }

    private static RouterNoise read(PresetSection section) {
        String kind = section.text("kind", "absent");
        onlyWith(section, "epsilon", kind, "input-jitter");
        onlyWith(section, "deviation", kind, "fixed-normal");
        onlyWith(section, "floor", kind, "learned-normal");
        return switch (kind) {
            case "input-jitter" -> {
                if (!section.has("epsilon")) {
                    throw section.wrong("epsilon", "a number in (0, 1)", "absent");
                }
                yield section.checked("", () -> new InputJitter(section.decimal("epsilon", 0)));
            }
            case "fixed-normal" -> section.checked("", () -> new FixedNormal(section.decimal("deviation", 1)));
            case "learned-normal" -> section.checked("", () -> new LearnedNormal(section.decimal("floor", 0.01)));
            default -> throw section.wrong("kind", "one of [fixed-normal, input-jitter, learned-normal]", kind);
        };
    }

    private static void onlyWith(PresetSection section, String key, String kind, String needed) {
        if (section.has(key) && !kind.equals(needed)) {
            throw section.wrong(key, "noise.kind = " + needed, kind);
        }
    }

    /**
     * {@code L = (X ⊙ U) · W_rᵀ} with U uniform in (1 − ε, 1 + ε) for each number of each token; the factors are rounded as the
     * backend rounds. With the gradient dL of the logits, {@code dX = (dL · W_r) ⊙ U} and {@code dW_r = dLᵀ · (X ⊙ U)}.
     *
     * <p>Who: Switch ({@code google/flaxformer}, {@code architectures/moe/routing.py}, {@code jitter_noise}); MegaBlocks and OLMo-core
     * ({@code router.py}, jitter); Megatron-Core ({@code moe_input_jitter_eps}). Where a system jitters in place, the experts see
     * it too: that is {@link org.moe4j.core.layer.TokenJitter}.
     *
     * @param epsilon in (0, 1); 0.01 in Switch
     */
    record InputJitter(double epsilon) implements RouterNoise {
        /**
         * Checks the number.
         *
         * @param epsilon in (0, 1)
         * @throws IllegalArgumentException for {@code epsilon} other than a number in (0, 1)
         */
        public InputJitter {
            if (!(epsilon > 0 && epsilon < 1)) {
                throw Require.expected("epsilon", "a number in (0, 1)", epsilon);
            }
        }
    }

    /**
     * {@code l_e + ξ · deviation / E} with ξ standard normal for each token and expert; scores, selection and weights are made of the
     * sum.
     *
     * @param deviation above 0, divided by the number of experts; 1 in V-MoE
     * @see <a href="https://github.com/google-research/vmoe/blob/main/vmoe/nn/routing.py">V-MoE, {@code noise_std}</a>
     */
    record FixedNormal(double deviation) implements RouterNoise {
        /**
         * Checks the number.
         *
         * @param deviation a finite number above 0
         * @throws IllegalArgumentException for {@code deviation} other than a finite number above 0
         */
        public FixedNormal {
            if (!(deviation > 0) || Double.isInfinite(deviation)) {
                throw Require.expected("deviation", "a finite number above 0", deviation);
            }
        }
    }

    /**
     * {@code l_e + ξ · δ_e} with {@code δ = softplus(X · W_nᵀ) + floor} and ξ standard normal for each token and expert; W_n is
     * the router's parameter {@code noise} (E×D). With dL the gradient of the noisy logits,
     * {@code dU = dL ⊙ ξ ⊙ σ(X · W_nᵀ)}, {@code dW_n = dUᵀ · X} and {@code dX = dL · W_r + dU · W_n}.
     *
     * @param floor at least 0; 0.01 in the source
     * @see <a href="https://arxiv.org/abs/1701.06538">Shazeer et al. 2017, Equation 4</a>
     * @see <a href="https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/utils/expert_utils.py">Tensor2Tensor,
     *     {@code noisy_top_k_gating}, {@code noise_epsilon}</a>
     */
    record LearnedNormal(double floor) implements RouterNoise {
        /**
         * Checks the number.
         *
         * @param floor a finite number of at least 0
         * @throws IllegalArgumentException for {@code floor} other than a finite number of at least 0
         */
        public LearnedNormal {
            if (!(floor >= 0) || Double.isInfinite(floor)) {
                throw Require.expected("floor", "a finite number of at least 0", floor);
            }
        }
    }
}
