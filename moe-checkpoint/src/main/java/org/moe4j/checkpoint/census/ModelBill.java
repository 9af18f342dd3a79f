package org.moe4j.checkpoint.census;

import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.moe4j.router.analysis.bill.LayerBill;
import org.moe4j.router.analysis.bill.NumberType;

/**
 * The two bills of a model: memory is paid for all parameters, arithmetic for those that work on a token (the article on OLMoE-1B-7B,
 * LLM Architecture Refresh 5, §5). The memory of a KV cache is no part of it.
 *
 * @param census the model's parameters
 * @param layer one of its MoE layers
 */
public record ModelBill(Census census, LayerBill layer) {
    /**
     * What all parameters would take in one type.
     *
     * @param type of every number
     * @return bytes; empty where a role is not known
     */
    public OptionalLong bytes(NumberType type) {
        return bytes(type, 0);
    }

    /**
     * What all parameters but the routers' would take.
     *
     * @param type of every number
     * @return bytes; empty where a role is not known
     */
    public OptionalLong bytesWithoutRouter(NumberType type) {
        return bytes(type, routerParameters());
    }

    private OptionalLong bytes(NumberType type, long without) {
        OptionalLong all = census.parameters();
        return all.isEmpty() ? all : OptionalLong.of(type.bytes(all.getAsLong() - without));
    }

    /**
     * Parameters of the routers of all layers.
     *
     * @return weights and biases
     */
    public long routerParameters() {
        return census.counts().getOrDefault(Role.ROUTER, Count.NONE).parameters();
    }

    /**
     * How many parameters are the routers'.
     *
     * @return a share of all; empty where a role is not known
     */
    public OptionalDouble routerShare() {
        return quotient(routerParameters(), census.parameters());
    }

    /**
     * How many parameters work on a token, without the lookup in the embedding table.
     *
     * @return a share of all; empty where a role is not known
     */
    public OptionalDouble activeShare() {
        OptionalLong active = census.activeWithoutEmbedding();
        return active.isEmpty() ? OptionalDouble.empty() : quotient(active.getAsLong(), census.parameters());
    }

    /**
     * How many times the memory of a dense model of its active size the model needs.
     *
     * @return all parameters over those that work on a token; empty where a role is not known
     */
    public OptionalDouble storedOverActive() {
        OptionalLong all = census.parameters();
        return all.isEmpty() ? OptionalDouble.empty() : quotient(all.getAsLong(), census.activeWithoutEmbedding());
    }

    private static OptionalDouble quotient(long part, OptionalLong of) {
        return of.isEmpty() || of.getAsLong() == 0
                ? OptionalDouble.empty()
                : OptionalDouble.of((double) part / of.getAsLong());
    }
}
