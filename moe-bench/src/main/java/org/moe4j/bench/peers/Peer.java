package org.moe4j.bench.peers;

/** Another library that has the layer. Found by {@link java.util.ServiceLoader}; present with the Maven profile {@code peers} only. */
public interface Peer {
    /**
     * Name in the table.
     *
     * @return one word
     */
    String name();

    /**
     * Which library it is.
     *
     * @return name and version
     */
    String library();

    /**
     * Builds the layer: softmax over all experts, the K largest, no renormalisation, SwiGLU experts without biases, in float32.
     *
     * @param layer weights
     * @param pass what a call shall do
     * @param threads at least 1
     * @return the layer in this library
     * @throws Exception what the library throws; {@link PeersRun.Unfit} for a layer that it cannot hold or a pass that it does not have
     */
    Contender open(SampleLayer layer, Pass pass, int threads) throws Exception;
}
