package org.moe4j.router.analysis.bill;

import java.util.List;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;

/**
 * The two bills of one MoE layer: memory is paid for all that is held, arithmetic for what works on a token (the article on OLMoE-1B-7B,
 * LLM Architecture Refresh 5, §§1 and 5). Gates on shared experts and norms are left out: D numbers each.
 *
 * @param hiddenSize D, width of the layer's tokens; another than that of the routed experts, if these work in a latent space
 * @param routed E routed experts
 * @param topK K, experts of a token
 * @param shared the shared experts, banks of one
 * @param routerBiases how many vectors of E numbers the router has beside its weight (E×D)
 */
public record LayerBill(int hiddenSize, ExpertShape routed, int topK, List<ExpertShape> shared, int routerBiases) {
    /**
     * Checks the sizes.
     *
     * @param hiddenSize D, at least 1
     * @param routed E routed experts
     * @param topK K in 1..E
     * @param shared the shared experts
     * @param routerBiases at least 0
     * @throws IllegalArgumentException for {@code hiddenSize} below 1, {@code topK} out of range or {@code routerBiases} below 0
     */
    public LayerBill {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        Require.inRange("topK", topK, 1, routed.count(), "experts");
        Require.atLeast("routerBiases", routerBiases, 0);
        shared = List.copyOf(shared);
    }

    /**
     * SwiGLU experts without biases or shared ones.
     *
     * @param hiddenSize D, at least 1
     * @param intermediateSize F, at least 1
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @return the bill
     */
    public static LayerBill of(int hiddenSize, int intermediateSize, int experts, int topK) {
        return new LayerBill(hiddenSize, new ExpertShape(experts, hiddenSize, intermediateSize), topK, List.of(), 0);
    }

    /**
     * The layer of a preset.
     *
     * @param preset the model's layer
     * @return its bill
     */
    public static LayerBill of(Preset preset) {
        RouterConfig router = RouterConfig.from(preset);
        return new LayerBill(
                ExpertShape.tokenWidth(preset),
                ExpertShape.routed(preset),
                router.topK(),
                ExpertShape.shared(preset),
                (router.logitBias() ? 1 : 0) + (router.selectionBias() ? 1 : 0));
    }

    /**
     * The same layer with another number of experts for a token.
     *
     * @param other K in 1..E
     * @return a changed copy
     */
    public LayerBill withTopK(int other) {
        return new LayerBill(hiddenSize, routed, other, shared, routerBiases);
    }

    /**
     * Numbers in one routed expert.
     *
     * @return {@code 3·D·F} for SwiGLU
     */
    public long expertParameters() {
        return routed.parameters() / routed.count();
    }

    /**
     * Numbers in the router.
     *
     * @return {@code E·D} and its biases
     */
    public long routerParameters() {
        return (long) routed.count() * (hiddenSize + routerBiases);
    }

    /** Shared experts and projections around a latent space: with the router, what works on every token. */
    long sharedParameters() {
        long sum = 2L * latentProduct();
        for (ExpertShape expert : shared) {
            sum += expert.parameters();
        }
        return sum;
    }

    /** Numbers in one of the two projections of a latent space. */
    private long latentProduct() {
        return routed.hiddenSize() == hiddenSize ? 0 : (long) routed.hiddenSize() * hiddenSize;
    }

    /**
     * Numbers that have to be held: any token may want any expert.
     *
     * @return router, all experts, shared experts and projections
     */
    public long stored() {
        return routerParameters() + routed.parameters() + sharedParameters();
    }

    /**
     * Numbers that work on one token.
     *
     * @return router, K experts, shared experts and projections
     */
    public long active() {
        return routerParameters() + topK * expertParameters() + sharedParameters();
    }

    /**
     * Operations for one token forward, a multiply-add as two, activations and softmax left out.
     *
     * @return {@code 2·E·D} of the router and {@link ExpertShape#flopsPerToken} of the experts
     */
    public long flopsPerToken() {
        long sum = 2L * routed.count() * hiddenSize + routed.flopsPerToken(topK) + 4 * latentProduct();
        for (ExpertShape expert : shared) {
            sum += expert.flopsPerToken(1);
        }
        return sum;
    }

    /**
     * How much more arithmetic of routed experts another K would be.
     *
     * @param other K in 1..E
     * @return {@code other/K}: only the experts' part of the arithmetic moves with K
     */
    public double expertArithmetic(int other) {
        return (double) routed.flopsPerToken(other) / routed.flopsPerToken(topK);
    }

    private long sharedWidth() {
        return shared.stream().mapToLong(ExpertShape::intermediateSize).sum();
    }

    /**
     * The width of a dense network with the same arithmetic for a token.
     *
     * @return {@code K·F} and the widths of shared experts
     */
    public long widthUsed() {
        return (long) topK * routed.intermediateSize() + sharedWidth();
    }

    /**
     * The width of a dense network with the same number of parameters.
     *
     * @return {@code E·F} and the widths of shared experts
     */
    public long widthHeld() {
        return (long) routed.count() * routed.intermediateSize() + sharedWidth();
    }

    /**
     * How many times the width that works on a token is held.
     *
     * @return {@code E/K} without shared experts
     */
    public double capacityOverCompute() {
        return (double) widthHeld() / widthUsed();
    }
}
