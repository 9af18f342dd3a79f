package org.moe4j.router.trace;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import org.moe4j.core.internal.Spelling;

/**
 * What the routers of some layers chose, in memory. Layers of one model saw the same tokens, unless they were recorded otherwise.
 */
public final class RoutingTrace {
    private final Map<String, RecordedLayer> layers;

    private RoutingTrace(Map<String, RecordedLayer> layers) {
        this.layers = layers;
    }

    /**
     * Recorded layers.
     *
     * @param layers by name, in the order of the map; copied
     * @return the trace
     */
    public static RoutingTrace of(Map<String, RecordedLayer> layers) {
        return new RoutingTrace(Collections.unmodifiableMap(new LinkedHashMap<>(layers)));
    }

    /**
     * Names of the layers.
     *
     * @return in their order
     */
    public List<String> layers() {
        return List.copyOf(layers.keySet());
    }

    /**
     * A layer.
     *
     * @param name one of {@link #layers}
     * @return what was recorded of it
     * @throws NoSuchElementException for an unknown name
     */
    public RecordedLayer layer(String name) {
        RecordedLayer layer = layers.get(name);
        if (layer == null) {
            throw new NoSuchElementException("layer: expected one of " + layers.keySet() + " but was " + name
                    + Spelling.closest(name, layers.keySet())
                            .map(right -> "; did you mean " + right + "?")
                            .orElse(""));
        }
        return layer;
    }

    @Override
    public String toString() {
        return "RoutingTrace" + layers;
    }
}
