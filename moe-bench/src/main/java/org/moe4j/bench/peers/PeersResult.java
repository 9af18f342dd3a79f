package org.moe4j.bench.peers;

import java.util.List;
import org.moe4j.bench.timing.Times;

/**
 * What was measured.
 *
 * @param size of the layer
 * @param pass what a call does
 * @param threads of every implementation
 * @param libraries names and versions of the peers
 * @param rows one for each number of tokens, peer and backend
 * @param notes what was left out, and why
 */
public record PeersResult(
        LayerSize size, Pass pass, int threads, List<String> libraries, List<Row> rows, List<String> notes) {
    /**
     * Copies the lists.
     *
     * @param size of the layer
     * @param pass what a call does
     * @param threads of every implementation
     * @param libraries names and versions of the peers
     * @param rows one for each number of tokens, peer and backend
     * @param notes what was left out, and why
     */
    public PeersResult {
        libraries = List.copyOf(libraries);
        rows = List.copyOf(rows);
        notes = List.copyOf(notes);
    }

    /**
     * One of our backends beside one peer.
     *
     * @param tokens T of a call
     * @param peer its name
     * @param backend ours
     * @param dtype type of our weights; sums are in single precision
     * @param ours times of our calls
     * @param theirs times of the peer's calls, between ours
     */
    public record Row(int tokens, String peer, String backend, String dtype, Times ours, Times theirs) {
        /**
         * How many times as long the peer takes, by the medians.
         *
         * @return above 1 when we are faster
         */
        public double ratio() {
            return theirs.median() / ours.median();
        }

        /**
         * The same by the shortest times: what it is when nothing else disturbs.
         *
         * @return above 1 when we are faster
         */
        public double ratioOfMinima() {
            return theirs.minimum() / ours.minimum();
        }
    }
}
