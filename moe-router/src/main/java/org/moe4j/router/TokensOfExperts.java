package org.moe4j.router;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.moe4j.core.internal.Require;

/** Expert choice: the tokens that each expert takes, and with them the experts of each token. */
final class TokensOfExperts {
    private final RouterConfig config;
    private final double[][] columns; // choice scores of one expert, token after token
    private final boolean[][] taken;

    private TokensOfExperts(RouterConfig config, LogitRows logits) {
        this.config = config;
        columns = new double[config.experts()][logits.tokens()];
        taken = new boolean[config.experts()][logits.tokens()];
        TokenChoice ranked = new TokenChoice(config, Optional.empty());
        for (int t = 0; t < logits.tokens(); t++) {
            double[] scores = ranked.choiceScores(logits, t);
            for (int e = 0; e < columns.length; e++) {
                columns[e][t] = scores[e];
            }
        }
    }

    static ExpertLists of(
            RouterConfig config, ExpertSelection.ExpertChoice rule, LogitRows logits, List<Integer> sequenceLengths) {
        TokensOfExperts room = new TokensOfExperts(config, logits);
        int[] bounds = rule.groups().bounds(logits.tokens(), sequenceLengths);
        for (int g = 0; g + 1 < bounds.length; g++) {
            room.take(rule, bounds[g], bounds[g + 1]);
        }
        return room.lists(logits.tokens());
    }

    /** Every expert takes its best tokens of a group. */
    private void take(ExpertSelection.ExpertChoice rule, int from, int to) {
        int slots = Require.elements(to - from, config.topK());
        int rows = Math.min(to - from, rule.rows().rowsPerExpert(to - from, slots, config.experts()));
        if (rows == 0) {
            return;
        }
        for (int e = 0; e < columns.length; e++) {
            double[] sorted = Arrays.copyOfRange(columns[e], from, to);
            Arrays.sort(sorted);
            double last = sorted[to - from - rows];
            int left = rows;
            for (int t = from; t < to; t++) {
                taken[e][t] = columns[e][t] > last;
                left -= taken[e][t] ? 1 : 0;
            }
            for (int t = from; left > 0; t++) { // of equal ones the lower token first
                if (columns[e][t] == last) {
                    taken[e][t] = true;
                    left--;
                }
            }
        }
    }

    /** The experts of each token: larger choice score first, of equal ones the lower index. */
    private ExpertLists lists(int tokens) {
        int[] offsets = new int[tokens + 1];
        int[] experts =
                new int[Arrays.stream(taken).mapToInt(TokensOfExperts::count).sum()];
        int slots = 0;
        for (int t = 0; t < tokens; t++) {
            for (int e = 0; e < columns.length; e++) {
                if (taken[e][t]) {
                    int place = slots++;
                    while (place > offsets[t] && columns[experts[place - 1]][t] < columns[e][t]) {
                        experts[place] = experts[place - 1];
                        place--;
                    }
                    experts[place] = e;
                }
            }
            offsets[t + 1] = slots;
        }
        return new ExpertLists(offsets, experts);
    }

    private static int count(boolean[] flags) {
        int count = 0;
        for (boolean flag : flags) {
            count += flag ? 1 : 0;
        }
        return count;
    }
}
