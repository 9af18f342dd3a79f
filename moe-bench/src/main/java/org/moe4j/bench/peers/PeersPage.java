package org.moe4j.bench.peers;

import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import java.util.stream.Collectors;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The measurements as text. */
public final class PeersPage {
    private static final int WORDS = 4;

    private PeersPage() {}

    /**
     * All numbers as they were measured.
     *
     * @param result of a run
     * @return the table of peers.csv
     */
    public static Table csv(PeersResult result) {
        return table(result, Decimal::of);
    }

    /**
     * The table that is printed.
     *
     * @param result of a run
     * @return the same numbers, rounded
     */
    public static Table rounded(PeersResult result) {
        return table(result, PeersPage::short3);
    }

    private static Table table(PeersResult result, DoubleFunction<String> number) {
        List<List<String>> rows = result.rows().stream()
                .map(row -> List.of(
                        row.peer(),
                        row.backend(),
                        row.dtype(),
                        result.pass().text(),
                        Integer.toString(row.tokens()),
                        number.apply(row.ours().minimum()),
                        number.apply(row.ours().median()),
                        number.apply(row.theirs().minimum()),
                        number.apply(row.theirs().median()),
                        number.apply(row.ratioOfMinima()),
                        number.apply(row.ratio())))
                .toList();
        return new Table(
                List.of(
                        "peer",
                        "backend",
                        "dtype",
                        "pass",
                        "tokens",
                        "ours_min_ms",
                        "ours_ms",
                        "peer_min_ms",
                        "peer_ms",
                        "ratio_of_minima",
                        "ratio"),
                WORDS,
                rows);
    }

    /** Three digits, or all before the point. */
    private static String short3(double value) {
        int whole = (int) Math.floor(Math.log10(value)) + 1;
        return String.format(Locale.ROOT, "%." + Math.max(0, Math.min(4, 3 - whole)) + "f", value);
    }

    /**
     * Below the table: what the columns mean and what was left out.
     *
     * @param result of a run
     * @return lines
     */
    public static String legend(PeersResult result) {
        String notes =
                result.notes().stream().map(note -> "\nLeft out: " + note).collect(Collectors.joining());
        return "Layer: " + result.size() + ", random routing; " + result.pass().text() + "; " + result.threads()
                + " threads each. Milliseconds: median of a call, and the shortest (min). ratio = peer_ms / ours_ms; above 1 we"
                + " are faster.\nPeers: " + String.join(", ", result.libraries()) + ". Java "
                + System.getProperty("java.version") + "." + notes;
    }

    /**
     * The page.
     *
     * @param result of a run
     * @param picture file name of the picture
     * @return Markdown
     */
    public static String markdown(PeersResult result, String picture) {
        return "# Peers\n\nHow long does the same layer take in other libraries, called in turn with ours in one process? The"
                + " results were compared before they were measured.\n\n![How many times as long a peer takes, by tokens of a"
                + " call](" + picture + ")\n\n" + rounded(result).markdown() + "\n"
                + legend(result).replace("\n", "\n\n") + "\n";
    }
}
