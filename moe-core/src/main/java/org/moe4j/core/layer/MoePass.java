package org.moe4j.core.layer;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
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
    private final Matrix tokens; // as the stages saw them: a handle of the pass, so that a caller may close theirs
    private final Optional<Matrix> jitter; // factors of the tokens
    private final Router source; // of the router's pass, which reads its parameters again
    private final RouterPass router;
    private final RoutedPass routed;
    private final Optional<SharedPass> shared;
    private final Matrix output;
    private final ParameterShapes shapes;
    private final AtomicBoolean closed = new AtomicBoolean();

    MoePass(
            Matrix tokens,
            Optional<Matrix> jitter,
            Router source,
            RouterPass router,
            RoutedPass routed,
            Optional<SharedPass> shared,
            ParameterShapes shapes) {
        this.tokens = tokens;
        this.jitter = jitter;
        this.source = source;
        this.router = router;
        this.routed = routed;
        this.shared = shared;
        this.shapes = shapes;
        output = shared.map(pass -> pass.merge().output())
                .orElseGet(() -> routed.output().share());
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
        return new Coefficients(routed.plan().admission(), routed.place(), shared.map(SharedPass::merge));
    }

    /**
     * Weighted sum of the routed experts, before the merge; it belongs to the pass.
     *
     * @return (T×D)
     */
    public Matrix routedOutput() {
        return routed.output();
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
        return router.routing();
    }

    /**
     * What the router computed, for those who know its kind.
     *
     * @return the router's pass
     */
    public RouterPass routerPass() {
        return router;
    }

    /**
     * Assignments that no expert took for want of capacity.
     *
     * @return at least 0
     */
    public int droppedAssignments() {
        return routed.plan().dropped();
    }

    /**
     * Sum of the router's losses.
     *
     * @return 0 without losses
     */
    public double auxiliaryLoss() {
        return router.auxiliaryLoss();
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
     * @throws IllegalArgumentException for a gradient of another shape or backend, or another number of gradients of the logits
     * @throws IllegalStateException when the pass is closed
     */
    public Gradients backward(Matrix dOutput, double[] dLogits) {
        requireFit(dOutput, dLogits);
        try (Unfinished made = new Unfinished()) {
            FreshGradients fresh = made.add(new FreshGradients());
            Matrix dTokens = made.add(backward(dOutput, dLogits, fresh));
            Gradients gradients = new Gradients(dTokens, fresh.in(shapes.names()));
            made.keep();
            return gradients;
        }
    }

    /**
     * Adds the gradients of some parameters into buffers; all other parameters are frozen, and their gradients are not made
     * where a stage can do without.
     *
     * @param dOutput (T×D)
     * @param wanted names of parameters of the layer
     * @param into a {@link Backend#buffer} of the parameter's shape under each wanted name, another one under each
     * @return gradient of the tokens, and handles on the buffers; closing them leaves the given ones open
     * @throws IllegalArgumentException for a name, a buffer or a gradient that does not fit; no buffer has changed then
     */
    public Gradients backward(Matrix dOutput, Set<String> wanted, Parameters into) {
        return backward(dOutput, new double[0], wanted, into);
    }

    /**
     * The same with further gradients of the logits, from losses over several layers.
     *
     * <p>Everything is checked before anything is written. Should a stage fail after that, as for want of memory, some buffers
     * have their gradient already and some have not: such buffers are worth nothing, and the step has to begin anew.
     *
     * @param dOutput (T×D)
     * @param dLogits T·E numbers, or none
     * @param wanted names of parameters of the layer
     * @param into a {@link Backend#buffer} of the parameter's shape under each wanted name, another one under each
     * @return gradient of the tokens, and handles on the buffers; closing them leaves the given ones open
     * @throws IllegalArgumentException for a name, a buffer or a gradient that does not fit; no buffer has changed then
     */
    public Gradients backward(Matrix dOutput, double[] dLogits, Set<String> wanted, Parameters into) {
        requireFit(dOutput, dLogits);
        shapes.requireBuffers(wanted, into, tokens.backend());
        try (Unfinished made = new Unfinished()) {
            Parameters handles = ParameterShapes.shared(into, made); // before anything is written: one may be closed,
            source.parameters().close(); // and so may the router, which is asked after shared experts and merge
            Gradients gradients = new Gradients(backward(dOutput, dLogits, new WantedGradients(wanted, into)), handles);
            made.keep();
            return gradients;
        }
    }

    private void requireFit(Matrix dOutput, double[] dLogits) {
        if (closed.get()) {
            throw new IllegalStateException("pass: expected an open pass but was closed");
        }
        KernelChecks.gradient(tokens.backend(), dOutput, output);
        if (dLogits.length != 0) {
            Require.count(
                    "dLogits", dLogits.length, (long) tokens.rows() * routing().experts(), "numbers (T x E)");
        }
    }

    private Matrix backward(Matrix dOutput, double[] dLogits, GradientSink sink) {
        Backend backend = tokens.backend();
        try (Unfinished made = new Unfinished()) { // closes all parts of the sum
            Optional<SharedGradients> dShared = shared.map(pass -> made.add(pass.backward(dOutput, sink)));
            Matrix dRouted = dShared.map(SharedGradients::routed).orElse(dOutput);
            Matrix through = made.add(
                    routed.backward(tokens, dRouted, sink, dWeights -> sink.router(router, dWeights, dLogits)));
            Matrix all =
                    dShared.map(d -> made.add(backend.add(through, d.tokens()))).orElse(through);
            return jitter.map(factors -> backend.multiply(all, factors)).orElseGet(all::share);
        }
    }

    /** Releases what backward needs; doing so again changes nothing. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            tokens.close();
            jitter.ifPresent(Matrix::close);
            routed.close();
            shared.ifPresent(SharedPass::close);
        }
    }
}
