package org.moe4j.core.layer;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.DispatchPlan.CombineGradients;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.SharedPass.SharedGradients;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/**
 * Everything one forward computed, and its backward.
 *
 * <p>The pass owns what backward needs and releases it when closed. The output and all gradients belong to the caller:
 * they stay valid when the pass is closed, and are closed on their own.
 */
public final class MoePass implements AutoCloseable {
    private final Matrix tokens; // a handle of the pass, so that a caller may close theirs
    private final RouterPass routed;
    private final DispatchPlan plan;
    private final ExpertsPass expert;
    private final Matrix combined;
    private final Optional<SharedPass> shared;
    private final Matrix output;
    private final ParameterShapes shapes;
    private final AtomicBoolean closed = new AtomicBoolean();

    MoePass(
            Matrix tokens,
            RouterPass routed,
            DispatchPlan plan,
            ExpertsPass expert,
            Matrix combined,
            Optional<SharedPass> shared,
            ParameterShapes shapes) {
        this.tokens = tokens;
        this.routed = routed;
        this.plan = plan;
        this.expert = expert;
        this.combined = combined;
        this.shared = shared;
        this.shapes = shapes;
        output = shared.map(pass -> pass.merge().output()).orElseGet(combined::share);
    }

    /**
     * Output of the layer; it belongs to the caller.
     *
     * @return (T×D)
     */
    public Matrix output() {
        return output;
    }

    /**
     * What really multiplied each branch.
     *
     * @return r_ti and s_t of Equation 80
     */
    public Coefficients coefficients() {
        return new Coefficients(plan.admission(), shared.map(SharedPass::merge));
    }

    /**
     * Weighted sum of the routed experts, before the merge; it belongs to the pass.
     *
     * @return (T×D)
     */
    public Matrix routedOutput() {
        return combined;
    }

    /**
     * Outputs of the shared experts, before the merge; they belong to the pass.
     *
     * @return (T×D) each
     */
    public List<Matrix> sharedOutputs() {
        return shared.map(SharedPass::outputs).orElse(List.of());
    }

    /**
     * Where the tokens went.
     *
     * @return the routing, before capacity
     */
    public Routing routing() {
        return routed.routing();
    }

    /**
     * What the router computed, for those who know its kind.
     *
     * @return the router's pass
     */
    public RouterPass routerPass() {
        return routed;
    }

    /**
     * Assignments that no expert took for want of capacity.
     *
     * @return at least 0
     */
    public int droppedAssignments() {
        return plan.dropped();
    }

    /**
     * Sum of the router's losses.
     *
     * @return 0 without losses
     */
    public double auxiliaryLoss() {
        return routed.auxiliaryLoss();
    }

    /**
     * Gradients of {@code Σ output ⊙ dOutput + auxiliaryLoss}.
     *
     * @param dOutput (T×D)
     * @return gradients of the tokens (T×D) and of all parameters of the layer
     */
    public Gradients backward(Matrix dOutput) {
        return backward(dOutput, new double[0]);
    }

    /**
     * The same with further gradients of the logits, from losses over several layers.
     *
     * @param dOutput (T×D)
     * @param dLogits T·E numbers, or none
     * @return gradients of the tokens (T×D) and of all parameters of the layer
     */
    public Gradients backward(Matrix dOutput, double[] dLogits) {
        requireOpen();
        Backend backend = tokens.backend();
        KernelChecks.gradient(backend, dOutput, output);
        int experts = routing().experts();
        if (dLogits.length != 0) {
            Require.count("dLogits", dLogits.length, (long) tokens.rows() * experts, "numbers (T x E)");
        }
        try (Unfinished made = new Unfinished()) {
            Optional<SharedGradients> dShared = shared.map(pass -> made.add(pass.backward(dOutput)));
            Matrix dCombined = dShared.map(SharedGradients::routed).orElse(dOutput);
            CombineGradients dCombine = plan.combineBackward(expert.output(), dCombined);
            made.add(dCombine.expertOutputs());
            plan.addPassedWeights(dCombine.weights(), tokens, dCombined);
            // the router before the experts: what cannot work is found before the expensive part
            Gradients dRouter = made.add(routed.backward(dCombine.weights(), dLogits));
            Gradients dExperts = made.add(expert.backward(dCombine.expertOutputs()));
            Matrix dTokens = plan.addPassed(sum(plan.dispatchBackward(dExperts.input()), dRouter.input()), dCombined);
            if (dShared.isPresent()) {
                dTokens = sum(dTokens, dShared.get().tokens());
            }
            Parameters dParameters = dRouter.parameters()
                    .prefixed("router")
                    .and(dExperts.parameters().prefixed("experts"))
                    .and(dShared.map(SharedGradients::parameters).orElse(Parameters.none()));
            made.keep();
            dCombine.expertOutputs().close();
            dExperts.input().close();
            dShared.ifPresent(d -> d.routed().close());
            return new Gradients(dTokens, dParameters);
        }
    }

    /** The sum of two matrices that nobody else needs. */
    private static Matrix sum(Matrix a, Matrix b) {
        try (a;
                b) {
            return a.backend().add(a, b);
        }
    }

    /**
     * Adds the gradients of some parameters into buffers; all other parameters are frozen.
     *
     * @param dOutput (T×D)
     * @param wanted names of parameters of the layer
     * @param into a {@link Backend#buffer} of the parameter's shape under each wanted name
     * @return gradient of the tokens, and handles on the buffers; closing them leaves the given ones open
     */
    public Gradients backward(Matrix dOutput, Set<String> wanted, Parameters into) {
        shapes.requireBuffers(wanted, into, tokens.backend());
        Gradients all = backward(dOutput);
        try (Parameters fresh = all.parameters()) {
            for (String name : wanted) {
                dOutput.backend().accumulate(1.0, into.get(name), 0, fresh.get(name));
            }
        }
        return new Gradients(all.input(), into.map((name, buffer) -> buffer.share()));
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("pass: expected an open pass but was closed");
        }
    }

    /** Releases what backward needs; doing so again changes nothing. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            tokens.close();
            expert.close();
            combined.close();
            shared.ifPresent(SharedPass::close);
        }
    }
}
