package org.moe4j.bench.study.budget;

import java.util.Arrays;
import org.moe4j.bench.study.Examples;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;

/**
 * Examples that nobody learns from.
 *
 * @param examples tokens and targets
 * @param teacherLoss what the teacher itself has on them, since its targets are noisy
 * @param groups of the tokens: the teacher's expert
 */
@SuppressWarnings("ArrayRecordComponent") // read only, inside the study
record HeldOut(Examples examples, double teacherLoss, int[] groups) implements AutoCloseable {
    static HeldOut draw(MoeLayer teacher, int count, long seed) {
        Examples examples = Examples.draw(teacher, BudgetLayers.NOISE, count, seed);
        Routing routing = teacher.router().routing(examples.tokens(), RoutingContext.plain());
        int[] groups = new int[count];
        Arrays.setAll(groups, t -> routing.expert(t, 0));
        try (Matrix output = teacher.apply(examples.tokens())) {
            return new HeldOut(examples, examples.loss(output), groups);
        }
    }

    @Override
    public void close() {
        examples.close();
    }
}
