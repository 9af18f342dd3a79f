package org.moe4j.checkpoint.layout;

/**
 * What a tensor of an MoE layer holds.
 *
 * @param part a part, or one of two that share the tensor
 * @param numbers how many of the part's numbers are in one number of the tensor: 1, or 2 where a byte holds two, or 0 for scales
 */
public record StoredPart(LayerPart part, int numbers) {}
