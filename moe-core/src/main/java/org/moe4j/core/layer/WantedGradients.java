package org.moe4j.core.layer;

import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.layer.MergePass.BranchGradients;
import org.moe4j.core.parameter.Parameters;

/** Gradients of the wanted parameters, added into buffers; the others are not made where a stage can do without. */
final class WantedGradients implements GradientSink {
    private final Set<String> wanted;
    private final Parameters into;

    /** Names of the layer, and a fitting buffer for each of them: both checked. */
    WantedGradients(Set<String> wanted, Parameters into) {
        this.wanted = Set.copyOf(wanted);
        this.into = into;
    }

    private Set<String> under(String prefix) {
        Set<String> names = new LinkedHashSet<>();
        for (String name : wanted) {
            if (name.startsWith(prefix + ".")) {
                names.add(name.substring(prefix.length() + 1));
            }
        }
        return names;
    }

    @Override
    public Matrix router(RouterPass pass, double[] dWeights, double[] dLogits) {
        return pass.backward(dWeights, dLogits, under("router"), into.under("router"));
    }

    @Override
    public Matrix experts(ExpertsPass pass, Matrix dOutput) {
        return pass.backward(dOutput, under("experts"), into.under("experts"));
    }

    @Override
    public Matrix shared(ExpertsPass pass, int index, Matrix dOutput) {
        String prefix = "shared." + index;
        Set<String> ofBank = new LinkedHashSet<>();
        under(prefix).forEach(name -> ofBank.add("0." + name));
        return pass.backward(dOutput, ofBank, into.under(prefix).prefixed("0"));
    }

    @Override
    public BranchGradients merge(MergePass pass, Matrix dOutput) {
        return pass.backward(dOutput, under("merge"), into.under("merge"));
    }

    @Override
    public void product(String name, Matrix a, Matrix b) {
        if (wanted.contains(name)) {
            a.backend().accumulateMatmulTransA(a, b, RowGroups.single(a.rows()), Map.of(0, into.get(name)));
        }
    }
}
