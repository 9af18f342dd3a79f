package org.moe4j.bench.peers;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.moe4j.bench.timing.Alternation;
import org.moe4j.bench.timing.Times;

/**
 * Measures our backends beside peers, pair by pair, so that the memory holds two layers at a time.
 *
 * @param size of the layer
 * @param pass what a call does
 * @param backends ours, at least one
 * @param tokens of a call, one measurement for each
 * @param threads of every implementation
 */
public record PeersRun(LayerSize size, Pass pass, List<OwnBackend> backends, List<Integer> tokens, int threads) {
    private static final long SEED = 1;

    /** Seconds until all is compiled; seconds and turns of measuring; enough of a pause for threads that spin to go to sleep. */
    private static final Alternation ALTERNATION = new Alternation(1.5, 3, 9, 400, 80);

    /**
     * Copies and checks.
     *
     * @param size of the layer
     * @param pass what a call does
     * @param backends ours, at least one
     * @param tokens of a call, one measurement for each
     * @param threads of every implementation
     */
    public PeersRun {
        backends = List.copyOf(backends);
        if (backends.isEmpty()) {
            throw new IllegalArgumentException("backends: expected at least one but was none");
        }
        tokens = List.copyOf(tokens);
        if (tokens.isEmpty() || tokens.stream().anyMatch(count -> count < 1 || count > size.mostTokens())) {
            throw new IllegalArgumentException("tokens: expected numbers of 1.." + size.mostTokens()
                    + " (a matrix has at most 2^31 - 9 elements) but was " + tokens);
        }
    }

    /**
     * How many measurements there are.
     *
     * @param peers that are measured
     * @return steps of the progress
     */
    public int measurements(List<Peer> peers) {
        return peers.size() * backends.size() * tokens.size();
    }

    /**
     * Checks and measures.
     *
     * @param peers at least one
     * @param step called after each measurement
     * @return the times
     * @throws Exception what a peer throws, and a result that is not that of the others
     */
    public PeersResult run(List<Peer> peers, Runnable step) throws Exception {
        return run(peers, ALTERNATION, step);
    }

    PeersResult run(List<Peer> peers, Alternation alternation, Runnable step) throws Exception {
        SampleLayer layer = new SampleLayer(size, SEED);
        List<PeersResult.Row> rows = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        for (Peer peer : peers) {
            try (Contender theirs = peer.open(layer, pass, threads)) {
                for (OwnBackend backend : backends) {
                    if (backend.isAvailable()) {
                        rows.addAll(measure(layer, peer, theirs, backend, alternation, step));
                    } else {
                        notes.add(backend + ": expected a JVM with --add-modules jdk.incubator.vector");
                    }
                }
            } catch (Unfit e) {
                notes.add(peer.name() + ": " + e.getMessage());
            }
        }
        List<String> libraries = peers.stream()
                .filter(peer -> rows.stream().anyMatch(row -> row.peer().equals(peer.name())))
                .map(Peer::library)
                .distinct()
                .toList();
        return new PeersResult(
                size, pass, threads, libraries, rows, notes.stream().distinct().toList());
    }

    private List<PeersResult.Row> measure(
            SampleLayer layer, Peer peer, Contender theirs, OwnBackend backend, Alternation alternation, Runnable step)
            throws Exception {
        List<PeersResult.Row> rows = new ArrayList<>();
        try (Contender ours = OwnLayer.of(layer, pass, backend.backend(threads))) {
            for (int count : tokens) {
                float[] values = layer.tokens(count);
                try (Contender.Calls own = ours.bind(values, count);
                        Contender.Calls other = theirs.bind(values, count)) {
                    agree(layer, values, count, peer, own, other);
                    List<Times> times = alternation.run(List.of(own::call, other::call), () -> {});
                    rows.add(new PeersResult.Row(
                            count, peer.name(), backend.id(), backend.storage(), times.get(0), times.get(1)));
                }
                step.run();
            }
        }
        return rows;
    }

    private void agree(
            SampleLayer layer, float[] tokens, int count, Peer peer, Contender.Calls ours, Contender.Calls theirs)
            throws Exception {
        ours.call();
        theirs.call();
        float[] result = ours.result();
        double tolerance = Agreement.tolerance(size);
        Agreement.require(peer.name(), "ours", theirs.result(), result, tolerance);
        int d = size.hiddenSize();
        float[] last = Arrays.copyOfRange(result, (count - 1) * d, count * d);
        Agreement.require("ours", "plain loops", last, Agreement.definition(layer, tokens, count - 1), tolerance);
        if (pass == Pass.FORWARD_AND_BACKWARD) {
            int expert = Agreement.firstChoice(layer, tokens, count - 1);
            Agreement.require(peer.name(), theirs.gradients(expert), ours.gradients(expert), tolerance);
        }
    }

    /** A layer that a peer cannot hold, or a pass that it does not have; the others are measured all the same. */
    public static final class Unfit extends Exception {
        private static final long serialVersionUID = 1;

        /**
         * Says why.
         *
         * @param message what was expected and what was found
         */
        public Unfit(String message) {
            super(message);
        }
    }
}
