package org.moe4j.bench.optimizer;

/** Learns the numbers of one parameter from its gradients. It changes with every step. */
public interface Optimizer {
    /**
     * One step.
     *
     * @param gradient one number per parameter
     * @param rate step size, at least 0
     */
    void step(double[] gradient, double rate);

    /**
     * The parameter now.
     *
     * @return its numbers, a copy
     */
    double[] values();
}
