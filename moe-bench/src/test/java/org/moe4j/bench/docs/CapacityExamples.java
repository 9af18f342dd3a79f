package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.DropOrder;
import org.moe4j.core.dispatch.KeptWeights;
import org.moe4j.core.dispatch.KnownCapacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.RowLimit.EvenShare;
import org.moe4j.core.dispatch.RowLimit.OfShare;
import org.moe4j.core.dispatch.RowLimit.ZeroRows;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.reference.ReferenceBackend;

/** The section of conventions.md on capacity. */
final class CapacityExamples {
    private CapacityExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of("Capacity and who is dropped", example -> {
            rows(example);
            products(example);
            orders(example);
            keptWeights(example);
            unserved(example);
        });
    }

    private static void rows(Example example) {
        double[] sizes = example.given("T = 10, K = 2, E = 8, factor 1");
        OfShare up = RowLimit.factor(sizes[3]);
        OfShare down = up.withRounding(Rounding.DOWN);
        example.theirs("20/8 = 2.5", 20, 8, 20.0 / 8);
        example.ours("so C = 3", up.rowsPerExpert(10, 20, 8), 3);
        assertThat(down.rowsPerExpert(10, 20, 8)).isEqualTo(2);
        example.ours("to even 2", up.withRounding(Rounding.HALF_EVEN).rowsPerExpert(10, 20, 8), Math.rint(2.5));
        example.ours(
                "a multiple of 8, 8",
                new double[] {8, down.withMultipleOf(8).rowsPerExpert(10, 20, 8)},
                8,
                Math.ceil(2 / 8.0) * 8);
        example.theirs("10/8 = 1.25, down 1", 10, 8, 10.0 / 8, 1);
        example.ours("minimum C = 4", KnownCapacity.gShard(1, 10).rowsPerExpert(10, 20, 8), 4);
        double[] small = example.given("T = 3 with K = 1");
        int three = (int) (small[0] * small[1]);
        example.theirs("3/8", three, 8);
        example.ours("up to 1", up.rowsPerExpert(three, three, 8), 1);
        example.theirs("it is 0", Math.floor(3 / 8.0));
        assertThat(down.rowsPerExpert(three, three, 8)).isEqualTo(three); // nothing is dropped
        assertThat(down.withZeroRows(ZeroRows.NO_ROWS).rowsPerExpert(three, three, 8))
                .isZero();
        assertThatThrownBy(() -> down.withZeroRows(ZeroRows.REFUSED).rowsPerExpert(three, three, 8))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static void products(Example example) {
        double[] awkward = example.given("Factor 1.1 with 100 assignments and 10 experts");
        OfShare limit = RowLimit.factor(awkward[0]);
        example.theirs("⌈10·1.1", 10, awkward[0]);
        example.ours("= 11", limit.rowsPerExpert(100, 100, 10), Math.ceil(100.0 / 10 * awkward[0]));
        double product = awkward[0] * awkward[1];
        assertThat(product).isGreaterThan(110);
        example.theirs("1.1·100 is a little above 110", 1.1, 100, 110);
        example.ours(
                "C = 12",
                limit.withShare(EvenShare.ASSIGNMENTS_FACTOR_FIRST).rowsPerExpert(100, 100, 10),
                Math.ceil(product / 10));
    }

    private static void orders(Example example) {
        example.given("Tokens 0 to 3 want expert 0");
        double[] weights = {
            example.givenOne("second choice with weight 0.2"),
            example.given("first choice with 0.3 and 0.4")[0],
            0.4,
            example.givenOne("second choice with 0.45")
        };
        Routing routing = Routing.ofVarying(2, new int[] {0, 2, 3, 4, 6}, new int[] {1, 0, 0, 0, 1, 0}, new double[] {
            0.5, weights[0], weights[1], weights[2], 0.5, weights[3]
        });
        Limited one = Capacity.of(RowLimit.rows((int) example.givenOne("With C = 1")));
        example.ours("by position token 0", keptOf0(routing, one.withOrder(DropOrder.POSITION)), 0);
        example.ours("by weight token 3", keptOf0(routing, one.withOrder(DropOrder.WEIGHT)), 3);
        example.ours("by choice token 1", keptOf0(routing, one.withOrder(DropOrder.CHOICE)), 1);
        example.ours("with batch priority token 2", keptOf0(routing, one.withOrder(DropOrder.BATCH_PRIORITY)), 2);
    }

    private static int[] keptOf0(Routing routing, Capacity capacity) {
        DispatchPlan plan = DispatchPlan.of(routing, capacity);
        return Arrays.copyOfRange(
                plan.rows(), plan.groups().from(0), plan.groups().to(0));
    }

    /** Two tokens and their two experts; with one row each the second token gets neither. */
    private static Admission admission(double[] weights, Limited limit) {
        double[] twice = {weights[0], weights[1], weights[0], weights[1]};
        return Admission.of(Routing.of(2, 2, new int[] {0, 1, 0, 1}, twice), limit, List.of());
    }

    private static void keptWeights(Example example) {
        double[] weights = example.given("weights 0.6 and 0.3");
        Routing second = Routing.of(2, 2, new int[] {1, 0, 0, 1}, new double[] {1, 0.5, weights[0], weights[1]});
        Limited byWeight = Capacity.of(RowLimit.rows(1)).withOrder(DropOrder.WEIGHT);
        Limited unitSum = byWeight.withKeptWeights(KeptWeights.UNIT_SUM);
        Admission kept = Admission.of(second, byWeight, List.of());
        assertThat(kept.isDropped(1, 1)).isTrue();
        example.ours("gives it 0.6", kept.weight(1, 0), 0.6);
        example.ours("or 1 divided", Admission.of(second, unitSum, List.of()).weight(1, 0), 1);
        Admission both = admission(weights, unitSum);
        example.ours("0.6667 and 0.3333", new double[] {both.weight(0, 0), both.weight(0, 1)}, 0.6 / 0.9, 0.3 / 0.9);
    }

    private static void unserved(Example example) {
        double[] token = example.given("The token (2, 4)");
        Limited one = Capacity.of(RowLimit.rows(1));
        example.ours("(0, 0)", passed(token, one), 0, 0);
        example.ours("or (2, 4)", passed(token, one.withUnserved(UnservedTokens.PASSED)), 2, 4);
        example.ours(
                "(1.8, 3.6)",
                passed(token, one.withUnserved(UnservedTokens.PASSED_WEIGHTED)),
                (0.6 + 0.3) * 2,
                (0.6 + 0.3) * 4);
    }

    private static double[] passed(double[] token, Limited limit) {
        DispatchPlan plan = DispatchPlan.of(admission(new double[] {0.6, 0.3}, limit));
        ReferenceBackend backend = ReferenceBackend.instance();
        Matrix tokens = backend.matrix(2, 2, new double[] {7, 7, token[0], token[1]});
        Matrix sum = plan.addPassed(backend.buffer(2, 2), tokens);
        return new double[] {sum.get(1, 0), sum.get(1, 1)};
    }
}
