package org.moe4j.bench.layer;

/**
 * A loss of the routing in plain words.
 *
 * @param formula whose: {@code switch}, {@code flaxformer}, {@code transformers}, {@code megatron}, {@code megatron-sequence},
 *     {@code olmo-core}, {@code olmo-core-instance}, {@code megablocks}, {@code deepseek-batch}, {@code deepseek-sequence}, {@code deepseek-v3},
 *     {@code z-loss}, or of the field's two noisy routers {@code shazeer-importance}, {@code shazeer-load},
 *     {@code vmoe-importance}, {@code vmoe-load}
 * @param coefficient what its formula is multiplied by
 */
record LossWords(String formula, double coefficient) {}
