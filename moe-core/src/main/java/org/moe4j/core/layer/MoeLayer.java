package org.moe4j.core.layer;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Parameters;

/**
 * A Mixture-of-Experts layer: router, routed experts and, where a model has one, a shared branch.
 *
 * <p>{@code y_t = Σ_i r_ti · f_i(x_t) + s_t · g(x_t)}; without a shared branch {@code r} is the router's weight. A layer
 * is immutable and may be used by several threads at once. The {@code with…} methods give layers that share their banks
 * with this one; closing any of them closes them all, with router and merge.
 */
public final class MoeLayer implements AutoCloseable {
    /** Numbers of scratch that {@link #apply} may need at once; it bounds the tokens of a chunk, by shapes alone. */
    private static final long SCRATCH_NUMBERS = 1L << 26;

    private static final int SMALLEST_CHUNK = 256;

    private final Router router;
    private final Experts experts;
    private final Optional<SharedBranch> shared;
    private final Capacity capacity;
    private final ParameterShapes shapes;

    private MoeLayer(Router router, Experts experts, Optional<SharedBranch> shared, Capacity capacity) {
        this.router = router;
        this.experts = experts;
        this.shared = shared;
        this.capacity = capacity;
        capacity.requireScale(router.scale());
        Require.count("router", router.experts(), experts.shape().count(), "experts (experts of the bank)");
        router.tokenWidth()
                .ifPresent(width -> Require.count(
                        "router", width, experts.shape().hiddenSize(), "as hidden size (of the experts)"));
        shared.ifPresent(branch -> {
            for (int i = 0; i < branch.experts().size(); i++) {
                ExpertShape shape = branch.experts().get(i).shape();
                Require.count(
                        "shared[" + i + "]",
                        shape.hiddenSize(),
                        experts.shape().hiddenSize(),
                        "as hidden size (of the routed experts)");
                KernelChecks.sameBackend(
                        "shared[" + i + "]", branch.experts().get(i).backend(), experts.backend());
            }
            branch.merge().requireFits(router, experts, branch.experts());
        });
        try (Parameters all = parameters()) {
            shapes = new ParameterShapes(all, experts.backend());
        }
    }

    /**
     * A dropless layer without a shared branch.
     *
     * @param router decides where tokens go
     * @param experts as many as the router chooses from
     * @return the layer
     */
    public static MoeLayer of(Router router, Experts experts) {
        return new MoeLayer(router, experts, Optional.empty(), Capacity.dropless());
    }

    /**
     * The same layer with another router, as one whose selection bias a trainer has updated.
     *
     * @param other chooses from as many experts
     * @return a layer that shares this one's banks; the router it replaces stays open, and is the caller's to close
     * @throws IllegalArgumentException when the router does not fit the experts, or the merge convention does not fit it
     */
    public MoeLayer withRouter(Router other) {
        return new MoeLayer(other, experts, shared, capacity);
    }

    /**
     * The same layer with a shared branch.
     *
     * @param branch shared experts and merge
     * @return a layer that shares this one's banks
     * @throws IllegalArgumentException when the merge convention does not fit the router or the widths
     */
    public MoeLayer withShared(SharedBranch branch) {
        return new MoeLayer(router, experts, Optional.of(branch), capacity);
    }

    /**
     * The same layer with a capacity.
     *
     * @param limit rows an expert may take
     * @return a layer that shares this one's banks
     */
    public MoeLayer withCapacity(Capacity limit) {
        return new MoeLayer(router, experts, shared, limit);
    }

    /**
     * Runs the layer in the plain context.
     *
     * @param tokens (T×D), finite
     * @return the pass
     */
    public MoePass forward(Matrix tokens) {
        return forward(tokens, RoutingContext.plain());
    }

    /**
     * Runs the layer and keeps what backward needs.
     *
     * @param tokens (T×D), finite; T may be 0
     * @param context what the router may need beside the tokens
     * @return the pass
     * @throws IllegalArgumentException for a wrong width, a foreign matrix, or a token that is not finite
     * @throws ArithmeticException for a router logit that is not finite
     */
    public MoePass forward(Matrix tokens, RoutingContext context) {
        requireTokens(tokens);
        context.requireTokens(tokens.rows());
        try (Unfinished made = new Unfinished()) {
            // Router and merge read the tokens again in backward, when the caller's handle may be closed or, if it is a
            // buffer, filled with something else.
            Matrix kept = made.add(tokens.isBuffer() ? copy(tokens, 0, tokens.rows()) : tokens.share());
            RouterPass routed = router.route(kept, context);
            DispatchPlan plan = DispatchPlan.of(Admission.of(routed.routing(), capacity, context.sequenceLengths()));
            ExpertsPass expert = made.add(experts.forward(kept, plan.rows(), plan.groups()));
            Matrix combined = made.add(plan.addPassed(plan.combine(expert.output()), kept));
            Optional<SharedPass> sharedPass = shared.map(branch -> branch.forward(kept, combined));
            MoePass pass = new MoePass(kept, routed, plan, expert, combined, sharedPass, shapes);
            made.keep();
            return pass;
        }
    }

    /**
     * Runs the layer and keeps nothing. The experts work in chunks of tokens, so that their scratch does not grow with T;
     * the router's product and the routing (T·E and T·K numbers) are made for all tokens at once.
     *
     * @param tokens (T×D), finite; T may be 0
     * @return (T×D)
     */
    public Matrix apply(Matrix tokens) {
        requireTokens(tokens);
        try (Unfinished made = new Unfinished()) {
            Matrix output = made.add(experts.backend().buffer(tokens.rows(), tokens.columns()));
            run(tokens, output);
            made.keep();
            return output;
        }
    }

    /**
     * {@link #apply} into a given buffer.
     *
     * @param tokens (T×D), finite; T may be 0
     * @param output a {@link Backend#buffer} (T×D), overwritten
     */
    public void applyInto(Matrix tokens, Matrix output) {
        requireTokens(tokens);
        KernelChecks.owner("output", output, experts.backend());
        KernelChecks.buffer("output", output, tokens.rows(), tokens.columns(), "shape of tokens");
        run(tokens, output);
    }

    private void run(Matrix tokens, Matrix output) {
        Admission admission = Admission.of(router.routing(tokens, RoutingContext.plain()), capacity, List.of());
        int chunk = chunk();
        for (int from = 0; from < tokens.rows(); from += chunk) {
            int to = Math.min(tokens.rows(), from + chunk);
            DispatchPlan plan = DispatchPlan.ofTokens(admission, from, to);
            try (Matrix rows = experts.apply(tokens, plan.rows(), plan.groups());
                    Matrix combined = plan.addPassed(plan.combine(rows), tokens);
                    Matrix merged = merged(tokens, from, to, combined)) {
                tokens.backend().accumulate(0, output, from, merged);
            }
        }
    }

    private Matrix merged(Matrix tokens, int from, int to, Matrix combined) {
        if (shared.isEmpty()) {
            return combined.share();
        }
        if (from == 0 && to == tokens.rows()) {
            return shared.get().apply(tokens, combined);
        }
        try (Matrix part = copy(tokens, from, to)) {
            return shared.get().apply(part, combined);
        }
    }

    private static Matrix copy(Matrix tokens, int from, int to) {
        int[] rows = new int[to - from];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = from + i;
        }
        return tokens.backend().gatherRows(tokens, rows);
    }

    private int chunk() {
        ExpertShape shape = experts.shape();
        long perToken = (long) router.topK() * (2L * shape.hiddenSize() + 3L * shape.intermediateSize());
        return (int) Math.min(Integer.MAX_VALUE, Math.max(SMALLEST_CHUNK, SCRATCH_NUMBERS / perToken));
    }

    private void requireTokens(Matrix tokens) {
        Require.count("tokens", tokens.columns(), experts.shape().hiddenSize(), "columns (hidden size of the experts)");
        KernelChecks.owner("tokens", tokens, experts.backend());
        OptionalLong bad = experts.backend().firstNonFinite(tokens);
        if (bad.isPresent()) {
            int row = (int) (bad.getAsLong() / tokens.columns());
            int column = (int) (bad.getAsLong() % tokens.columns());
            throw new IllegalArgumentException("tokens: expected finite values but token " + row + ", column " + column
                    + " is " + tokens.get(row, column));
        }
    }

    /**
     * The router.
     *
     * @return as given
     */
    public Router router() {
        return router;
    }

    /**
     * The routed experts.
     *
     * @return as given
     */
    public Experts experts() {
        return experts;
    }

    /**
     * The shared branch.
     *
     * @return empty for a layer without one
     */
    public Optional<SharedBranch> shared() {
        return shared;
    }

    /**
     * The capacity.
     *
     * @return dropless unless set
     */
    public Capacity capacity() {
        return capacity;
    }

    /**
     * All parameters; the handles belong to the caller.
     *
     * @return named as {@code router.weight}, {@code experts.3.gate}, {@code shared.0.down}, {@code merge.gate}
     */
    public Parameters parameters() {
        Parameters own =
                router.parameters().prefixed("router").and(experts.parameters().prefixed("experts"));
        return shared.map(branch -> own.and(branch.parameters())).orElse(own);
    }

    /**
     * The same layer with other parameters.
     *
     * @param parameters exactly the names of {@link #parameters()}, of the same shapes
     * @return a layer with banks of its own
     */
    public MoeLayer withParameters(Parameters parameters) {
        parameters.requireNames(shapes.names());
        return new MoeLayer(
                router.withParameters(parameters.under("router")),
                experts.withParameters(parameters.under("experts")),
                shared.map(branch -> branch.withParameters(parameters)),
                capacity);
    }

    /** Releases router, experts, shared experts and merge; doing so again changes nothing. */
    @Override
    public void close() {
        router.close();
        experts.close();
        shared.ifPresent(branch -> {
            branch.experts().forEach(Experts::close);
            branch.merge().close();
        });
    }
}
