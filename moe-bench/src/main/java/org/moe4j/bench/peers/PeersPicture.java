package org.moe4j.bench.peers;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;

/** The ratio by tokens: a panel for each peer, a line for each of our backends. */
public final class PeersPicture {
    private static final int MOST_TICKS = 8;

    private PeersPicture() {}

    /**
     * The picture of a run.
     *
     * @param result with at least one row
     * @return a panel for each peer
     */
    public static LineFigure of(PeersResult result) {
        List<String> peers =
                result.rows().stream().map(PeersResult.Row::peer).distinct().toList();
        List<String> backends =
                result.rows().stream().map(PeersPicture::backend).distinct().toList();
        return new LineFigure(
                "How many times as long does a peer take?",
                result.size() + "; " + result.pass().text() + "; " + result.threads()
                        + " threads each, called in turn. " + String.join(", ", result.libraries()) + ".",
                backends,
                "Lines: ratio of medians. Bands reach to the ratio of the shortest times.",
                peers.stream().map(peer -> panel(result, peer, backends)).toList());
    }

    private static Panel panel(PeersResult result, String peer, List<String> backends) {
        List<List<Point>> lines = new ArrayList<>();
        for (String backend : backends) {
            lines.add(result.rows().stream()
                    .filter(row -> row.peer().equals(peer) && backend(row).equals(backend))
                    .map(PeersPicture::point)
                    .sorted((a, b) -> Double.compare(a.x(), b.x()))
                    .toList());
        }
        return new Panel(peer, tokens(result), ratios(result, peer), List.of(new Reference(1, "equal = 1")), lines);
    }

    private static String backend(PeersResult.Row row) {
        return row.backend() + " " + row.dtype();
    }

    private static Point point(PeersResult.Row row) {
        double other = row.ratioOfMinima();
        return new Point(row.tokens(), row.ratio(), Math.min(row.ratio(), other), Math.max(row.ratio(), other));
    }

    private static Axis tokens(PeersResult result) {
        TreeSet<Double> ticks = new TreeSet<>();
        result.rows().forEach(row -> ticks.add((double) row.tokens()));
        if (ticks.size() == 1) {
            ticks.add(2 * ticks.first());
        }
        return new Axis("tokens of a call (log scale)", List.copyOf(ticks), true);
    }

    /** Powers of two around all ratios, and around 1; of far apart ratios, only some of them. */
    private static Axis ratios(PeersResult result, String peer) {
        double[] all = result.rows().stream()
                .filter(row -> row.peer().equals(peer))
                .flatMapToDouble(row -> DoubleStream.of(1, row.ratio(), row.ratioOfMinima()))
                .toArray();
        int low = (int) Math.floor(log2(DoubleStream.of(all).min().orElseThrow()));
        int high = Math.max(
                low + 1, (int) Math.ceil(log2(DoubleStream.of(all).max().orElseThrow())));
        int step = 1 + (high - low) / MOST_TICKS;
        return new Axis(
                "time of the peer over ours (ratio, log scale)",
                IntStream.rangeClosed(0, (high - low + step - 1) / step)
                        .mapToObj(i -> Math.scalb(1.0, low + i * step))
                        .toList(),
                true);
    }

    private static double log2(double value) {
        return Math.log(value) / Math.log(2);
    }
}
