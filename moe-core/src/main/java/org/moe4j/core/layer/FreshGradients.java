package org.moe4j.core.layer;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** Gradients of all parameters as matrices of their own. */
final class FreshGradients implements GradientSink, AutoCloseable {
    private Parameters made = Parameters.none();

    private Matrix keep(Gradients gradients, String prefix) {
        made = made.and(gradients.parameters().prefixed(prefix));
        return gradients.input();
    }

    @Override
    public Matrix router(RouterPass pass, double[] dWeights, double[] dLogits) {
        return keep(pass.backward(dWeights, dLogits), "router");
    }

    @Override
    public Matrix experts(ExpertsPass pass, Matrix dOutput) {
        return keep(pass.backward(dOutput), "experts");
    }

    @Override
    public Matrix shared(ExpertsPass pass, int index, Matrix dOutput) {
        Gradients d = pass.backward(dOutput);
        made = made.and(SharedBranch.sharedNames(d.parameters(), index));
        return d.input();
    }

    @Override
    public BranchGradients merge(MergePass pass, Matrix dOutput) {
        BranchGradients d = pass.backward(dOutput);
        made = made.and(d.parameters().prefixed("merge"));
        return new BranchGradients(d.routed(), d.shared(), d.tokens(), Parameters.none());
    }

    @Override
    public void product(String name, Matrix a, Matrix b) {
        made = made.and(Parameters.of(name, a.backend().matmulTransA(a, b)));
    }

    /** What was made, in the order of the layer's names. */
    Parameters in(Set<String> order) {
        Map<String, Matrix> ordered = new LinkedHashMap<>();
        order.forEach(name -> ordered.put(name, made.get(name)));
        return Parameters.of(ordered);
    }

    @Override
    public void close() {
        made.close();
    }
}
