package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.router.ExpertSelection.ClosedGroups;
import org.moe4j.router.ExpertSelection.GroupLimited;
import org.moe4j.router.GroupScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;

/** Group-limited selection. */
final class GroupExamples {
    private GroupExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "What a group is ranked by", GroupExamples::groupScore,
                "What closed groups get", GroupExamples::closedGroups);
    }

    private static void groupScore(Example example) {
        double[] logits = example.given("(2, 1), (1.5, 0.5), (0, −3), (−0.1, −0.2)");
        int kept = (int) example.givenOne("3 of them");
        RouterConfig config = RouterConfig.topK(8, (int) example.givenOne("K = 6"));
        double[] p = Plain.softmax(logits);
        example.theirs("0.3887, 0.2357, 0.0526, 0.0476", p[0], p[2], p[4], p[6]);
        assertThat(open(config, new GroupScore.Max(), kept, logits)).containsOnly(0, 1, 2);
        example.theirs("0.5317, 0.3225, 0.0552, 0.0907", p[0] + p[1], p[2] + p[3], p[4] + p[5], p[6] + p[7]);
        assertThat(open(config, new GroupScore.SumOfBest(2), kept, logits)).containsOnly(0, 1, 3);
        assertThat(open(config, new GroupScore.TopKPerKeptGroup(), kept, logits))
                .containsOnly(0, 1, 3);
        example.theirs("(6/3 = 2)", 6, 3, new GroupScore.TopKPerKeptGroup().best(6, 3));
        rankedByScoresOrLogits(example);
    }

    private static void rankedByScoresOrLogits(Example example) {
        double[] logits = example.given("Logits (2, −3), (0.4, 0.3)");
        RouterConfig config = RouterConfig.topK(4, (int) example.givenOne("K = 2"))
                .withSelection(new GroupLimited(2, 1, new GroupScore.SumOfBest(2)));
        double[] p = Plain.softmax(logits);
        example.theirs("0.7236 and 0.2764", p[0] + p[1], p[2] + p[3]);
        example.ours("experts 0 and 1", Routed.of(config, logits).experts(), 0, 1);
        example.theirs("−1 and 0.7", logits[0] + logits[1], logits[2] + logits[3]);
        RouterConfig ofLogits = config.withRenormalization(new Renormalization.SoftmaxOfSelected());
        example.ours("experts 2 and 3", Routed.of(ofLogits, logits).experts(), 2, 3);
    }

    /** Groups of two whose experts were selected. */
    private static int[] open(RouterConfig config, GroupScore score, int kept, double... logits) {
        int[] experts = Routed.of(config.withSelection(new GroupLimited(4, kept, score)), logits)
                .experts();
        return Arrays.stream(experts).map(expert -> expert / 2).toArray();
    }

    private static void closedGroups(Example example) {
        double[] scores = example.given("Scores (0.4, 0.3, 0.2, 0.1)");
        double bias = example.givenOne("a bias of −0.5");
        int topK = (int) example.givenOne("K = 2");
        double[] choice = Plain.map(score -> score + bias, scores);
        example.theirs("(−0.1, −0.2, −0.3, −0.4)", choice);
        GroupScore largest = new GroupScore.Max();
        example.ours("experts 0 and 1", new GroupLimited(2, 1, largest).select(choice, topK), 0, 1);
        int[] closed = new GroupLimited(2, 1, largest, ClosedGroups.ZERO).select(choice, topK);
        example.ours("experts 2 and 3", closed, 2, 3);
        assertThat(new GroupLimited(2, 1, largest, ClosedGroups.ZERO).select(scores, topK))
                .containsExactly(0, 1);
        double[] underflown = {0, 0, 1, 0};
        assertThat(new GroupLimited(2, 1, largest).select(underflown, topK)).containsExactly(2, 3);
        assertThat(new GroupLimited(2, 1, largest, ClosedGroups.ZERO).select(underflown, topK))
                .containsExactly(2, 0);
    }
}
