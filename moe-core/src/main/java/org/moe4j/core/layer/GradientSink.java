package org.moe4j.core.layer;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.layer.MergePass.BranchGradients;

/**
 * Where the backward of a layer puts the gradients of parameters. Each method runs the backward of one stage, puts away what it
 * gives for parameters under the layer's names, and returns the rest.
 */
interface GradientSink {
    /** Gradient of the router's input (T×D). */
    Matrix router(RouterPass pass, double[] dWeights, double[] dLogits);

    /** Gradient of the rows of the routed experts (N×D). */
    Matrix experts(ExpertsPass pass, Matrix dOutput);

    /** Gradient of the tokens of one shared expert (T×D). */
    Matrix shared(ExpertsPass pass, int index, Matrix dOutput);

    /** Gradients of the branches, without parameters. */
    BranchGradients merge(MergePass pass, Matrix dOutput);

    /** A parameter whose gradient is {@code aᵀ·b}. */
    void product(String name, Matrix a, Matrix b);
}
