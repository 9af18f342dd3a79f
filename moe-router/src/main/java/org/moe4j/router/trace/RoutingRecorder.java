package org.moe4j.router.trace;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.moe4j.core.layer.Router;

/**
 * Records what routers choose while their layers run, without changing anything of it: {@code
 * layer.withRouter(recorder.router("0", layer.router()))} gives the outputs and gradients of {@code layer}, to the last bit.
 *
 * <p>Every call of such a router, in training or inference, appends its tokens to the layer's record. What is recorded is what the
 * router chose, before any capacity. The record grows with the tokens; {@link #drain} hands it out and begins anew, so that memory is
 * bounded by what is recorded between two of its calls.
 *
 * <p>Several threads may run layers, of different names or of one, and ask for traces meanwhile: the tokens of a call stay together,
 * and calls of one layer are in some order. A trace that is taken while a model is in the middle of its layers has more tokens of
 * the earlier ones.
 */
public final class RoutingRecorder {
    private final MaskedRows maskedRows;
    private final boolean withLogits;
    private final Map<String, LayerRecord> records = new LinkedHashMap<>(); // guarded by itself

    private RoutingRecorder(MaskedRows maskedRows, boolean withLogits) {
        this.maskedRows = maskedRows;
        this.withLogits = withLogits;
    }

    /**
     * Records experts and weights: 12 bytes for each assignment.
     *
     * @param maskedRows what to do with rows that do not count
     * @return without any tokens
     */
    public static RoutingRecorder of(MaskedRows maskedRows) {
        return new RoutingRecorder(maskedRows, false);
    }

    /**
     * Records logits too, as scores are made of, with noise where there is any: 8 bytes for each expert and token. Inference
     * then runs the routers as training does, which chooses the same.
     *
     * @param maskedRows what to do with rows that do not count
     * @return without any tokens
     */
    public static RoutingRecorder withLogits(MaskedRows maskedRows) {
        return new RoutingRecorder(maskedRows, true);
    }

    /**
     * A router that does what another one does, and is recorded. Its passes are those of the other one. So are its
     * {@link Router#withParameters} recorded, under the same name.
     *
     * @param layer name of the layer; the same name again appends to the same record
     * @param inner the layer's router; whoever closes the recorded one closes it
     * @return for {@link org.moe4j.core.layer.MoeLayer#withRouter}
     * @throws IllegalArgumentException when the name stands for a layer of another number of experts
     */
    public Router router(String layer, Router inner) {
        Objects.requireNonNull(layer, "layer"); // it would be kept
        LayerRecord record;
        synchronized (records) {
            record = records.computeIfAbsent(layer, name -> new LayerRecord(name, inner, maskedRows, withLogits));
        }
        record.requireFits(inner);
        return new RecordedRouter(inner, record);
    }

    /**
     * All that was recorded so far, or since the last {@link #drain}.
     *
     * @return of every layer that has a router, in the order in which they got it
     */
    public RoutingTrace trace() {
        return trace(false);
    }

    /**
     * The same, and forgets it.
     *
     * @return of every layer that has a router
     */
    public RoutingTrace drain() {
        return trace(true);
    }

    private RoutingTrace trace(boolean forget) {
        Map<String, RecordedLayer> layers = new LinkedHashMap<>();
        synchronized (records) {
            records.forEach((name, record) -> layers.put(name, record.taken(forget)));
        }
        return RoutingTrace.of(layers);
    }
}
