package org.moe4j.bench.routing;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.router.RouterConfig;

/**
 * What is asked of traces.
 *
 * @param devices numbers of devices that the experts are dealt out to, each at least 1
 * @param caches numbers of experts that a simulated cache has room for, each at least 1; none for no simulation
 * @param balance coefficient of the balance losses, at least 0
 * @param zLoss coefficient of the z-loss, at least 0
 * @param rule by which logits become a routing; empty for recorded experts, or the largest after softmax
 * @param scores whose scores the losses of recorded experts read; empty for those of the rule
 * @param token that is followed through all layers, from 0; empty for none
 * @param layer at which the token is explained in full; empty for none
 */
public record RoutingSettings(
        List<Integer> devices,
        List<Integer> caches,
        double balance,
        double zLoss,
        Optional<RouterConfig> rule,
        Optional<RouterConfig> scores,
        OptionalLong token,
        Optional<String> layer) {
    /**
     * Copies the lists.
     *
     * @param devices numbers of devices that the experts are dealt out to, each at least 1
     * @param caches numbers of experts that a simulated cache has room for, each at least 1; none for no simulation
     * @param balance coefficient of the balance losses, at least 0
     * @param zLoss coefficient of the z-loss, at least 0
     * @param rule by which logits become a routing; empty for recorded experts, or the largest after softmax
     * @param scores whose scores the losses of recorded experts read; empty for those of the rule
     * @param token that is followed through all layers, from 0; empty for none
     * @param layer at which the token is explained in full; empty for none
     */
    public RoutingSettings {
        devices = List.copyOf(devices);
        caches = List.copyOf(caches);
    }

    /** The rule that makes scores of a trace's logits. */
    RouterConfig scoring(TraceFile trace) {
        return rule.or(() -> scores).orElseGet(() -> RouterConfig.topK(trace.experts(), trace.topK()));
    }
}
