/**
 * Published checkpoints: a folder with a {@code config.json} and safetensors files, and the MoE layers in it.
 *
 * <p>What a family calls its keys and tensors is data, in files of {@code moe/layout}; no code asks which model it reads.
 */
@NullMarked
package org.moe4j.checkpoint;

import org.jspecify.annotations.NullMarked;
