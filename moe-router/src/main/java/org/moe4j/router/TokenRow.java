package org.moe4j.router;

import org.moe4j.core.internal.Require;

/** Where the numbers of one token begin among those of many, token after token; checks that they are there. */
final class TokenRow {
    private TokenRow() {}

    static int begin(String argument, double[] ofTokens, int token, int experts) {
        Require.atLeast("experts", experts, 1);
        Require.atLeast("token", token, 0);
        long end = (token + 1L) * experts;
        if (end > ofTokens.length) {
            throw Require.expected(
                    argument, "at least " + end + " numbers (experts of token " + token + ")", ofTokens.length);
        }
        return (int) end - experts;
    }

    static int begin(double[] logits, int token, double[] scores, double[] dScores, double[] dLogits) {
        Require.count("dScores", dScores.length, scores.length, "numbers (one per score)");
        begin("logits", logits, token, scores.length);
        return begin("dLogits", dLogits, token, scores.length);
    }
}
