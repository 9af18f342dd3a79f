package org.moe4j.merge.rewrite;

import java.util.List;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Spelling;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ScaledMerge;

/**
 * A layer under another fixed merge convention, computing the same: {@code α'·c·R + s'·c_s·S = α·R + s·S} with {@code c = α/α'}
 * and {@code c_s = s/s'}. Down projections and down biases of the routed experts are multiplied by c, those of the shared experts by
 * c_s, and nothing else; where the experts work in a latent space too, so that the families stay those of a layer without one.
 * A factor that is 0 on both sides leaves its branch as it is.
 *
 * <p>The function stays the same, the training does not: gradients of a family are divided by what its parameters were multiplied by,
 * and the settings and the state of an optimizer need what {@link Rescaling} says (Section 21.4 of the report on Olmo's MoE recipe).
 *
 * <p>Products are {@code double}, rounded once to the precision of the backend. Factors that are powers of two change no bit of output
 * and gradients on a backend whose loops scale exactly, as the reference does, as long as no number leaves the range of normal numbers.
 *
 * <p>What is refused, each with its reason: a merge that is not a {@link ScaledMerge}; a factor that is 0 on one side only; a quotient
 * whose square or its reciprocal is no normal number in the precision of the backend; a convention that does not fit the layer; tokens
 * that pass through a capacity unserved, which the merge multiplies too and no down projection reaches, when what multiplies them
 * changes; another scale of the router with weights on the experts' input, inside their activation; experts of a class that this library
 * does not know; a weight that overflows.
 */
public final class ConventionRewrite {
    private final MoeLayer layer;
    private final Set<String> names;
    private final ConventionChange change;

    private ConventionRewrite(MoeLayer layer, Set<String> names, ConventionChange change) {
        this.layer = layer;
        this.names = names;
        this.change = change;
    }

    /**
     * Rewrites a layer with the router it has.
     *
     * @param layer with a {@link ScaledMerge}, or without a shared branch, which is {@link ScaledMerge#sum()}; it stays as it is
     * @param to the convention of the result, made for the layer's widths
     * @return the rewritten layer
     * @throws IllegalArgumentException when there is no such layer; the message says which condition fails
     */
    public static ConventionRewrite of(MoeLayer layer, ScaledMerge to) {
        return of(layer, layer.router(), to);
    }

    /**
     * Rewrites a layer with the same router at another scale: with σ and σ' their {@link Router#scale} it is
     * {@code c = α·σ/(α'·σ')}, as when a model's routed scale moves into the weights. Compared are the experts, K, unit sums, counts, the
     * parameters bit by bit and the routing of 32 drawn tokens; that nothing else differs, as losses or noise, is the caller's word.
     * Where a capacity drops by weight, weights that differ by a rounding may tie after the change.
     *
     * @param layer with a {@link ScaledMerge}, or without a shared branch; it stays as it is
     * @param other the layer's router, but for its scale; it stays the caller's, the result has parameters of its own
     * @param to the convention of the result
     * @return the rewritten layer
     * @throws IllegalArgumentException when there is no such layer; the message says which condition fails
     */
    public static ConventionRewrite of(MoeLayer layer, Router other, ScaledMerge to) {
        ConventionChange change = ConventionChange.of(layer, other, to);
        try (Parameters own = layer.parameters();
                Parameters scaled =
                        ScaledMatrices.of(own, name -> change.of(name).factor())) {
            return new ConventionRewrite(rebuilt(layer, other, scaled, to), Set.copyOf(own.names()), change);
        }
    }

    /** Every part anew, so that closing one of the layers leaves the other open. */
    private static MoeLayer rebuilt(MoeLayer layer, Router other, Parameters scaled, ScaledMerge to) {
        try (Unfinished made = new Unfinished();
                Parameters ofRouter = other.parameters()) {
            MoeLayer own = made.add(layer.withParameters(scaled));
            Router router = made.add(other.withParameters(ofRouter));
            List<Experts> shared = own.shared().map(SharedBranch::experts).orElse(List.of());
            MoeLayer result = own.withShared(new SharedBranch(shared, ScaledMerge.sum())) // fits any router
                    .withRouter(router)
                    .withShared(new SharedBranch(shared, to));
            own.router().close();
            made.keep();
            return result;
        }
    }

    /**
     * The rewritten layer.
     *
     * @return the caller's; it has all parts of its own, so that closing it leaves the given layer open, and the other way round
     */
    public MoeLayer layer() {
        return layer;
    }

    /**
     * What became of the parameters {@code experts.<e>.down} and {@code experts.<e>.downBias}.
     *
     * @return {@code c = α·σ/(α'·σ')}
     */
    public Rescaling routedDown() {
        return change.routed();
    }

    /**
     * What became of the parameters {@code shared.<i>.down} and {@code shared.<i>.downBias}.
     *
     * @return {@code c_s = s/s'}; 1 without shared experts
     */
    public Rescaling sharedDown() {
        return change.shared();
    }

    /**
     * What became of a parameter.
     *
     * @param name of a parameter of the layer, as {@code experts.3.down}
     * @return that of its family; {@link Rescaling#none()} for all that stayed as they were
     * @throws NoSuchElementException for an unknown name
     */
    public Rescaling rescaling(String name) {
        if (!names.contains(name)) {
            throw new NoSuchElementException("name: expected one of the layer's parameters but was " + name
                    + Spelling.closest(name, names)
                            .map(right -> "; did you mean " + right + "?")
                            .orElse(""));
        }
        return change.of(name);
    }

    /**
     * Parameters of the given layer as those of the rewritten one: {@code W' = c·W}.
     *
     * @param ofLayer all or some, by their names
     * @return handles of the caller
     * @throws NoSuchElementException for an unknown name
     * @throws IllegalArgumentException when a number is not finite afterwards
     */
    public Parameters weights(Parameters ofLayer) {
        return mapped(ofLayer, Rescaling::factor);
    }

    /**
     * Gradients of the given layer as those of the rewritten one, or moving means of them, as momentum and Adam's first moments:
     * {@code dW' = dW/c}.
     *
     * @param ofLayer of all or some parameters, by their names
     * @return handles of the caller
     * @throws NoSuchElementException for an unknown name
     * @throws IllegalArgumentException when a number is not finite afterwards
     */
    public Parameters gradients(Parameters ofLayer) {
        return mapped(ofLayer, Rescaling::gradient);
    }

    /**
     * Moving means of squared gradients of the given layer, as Adam's second moments, as those of the rewritten one:
     * {@code v' = v/c²}.
     *
     * @param ofLayer of all or some parameters, by their names
     * @return handles of the caller
     * @throws NoSuchElementException for an unknown name
     * @throws IllegalArgumentException when a number is not finite afterwards
     */
    public Parameters secondMoments(Parameters ofLayer) {
        return mapped(ofLayer, Rescaling::secondMoment);
    }

    private Parameters mapped(Parameters ofLayer, ToDoubleFunction<Rescaling> factor) {
        return ScaledMatrices.of(ofLayer, name -> factor.applyAsDouble(rescaling(name)));
    }
}
