package org.moe4j.bench.study.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.bench.study.Norms;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.MergeScale;
import org.moe4j.merge.ScaledMerge;

final class StartScaleTest {
    private static final Backend EXACT = ReferenceBackend.instance();

    /** With equal logits p is 1/K and r = K·p is 1: the output is that of the dense block itself. */
    @ParameterizedTest
    @EnumSource(BudgetVariant.class)
    void evenWeightsAreTheDenseBlock(BudgetVariant variant) {
        try (MoeLayer drawn = BudgetLayers.student(variant, EXACT, 4);
                Parameters old = drawn.parameters();
                Parameters even = even(old);
                MoeLayer layer = drawn.withParameters(even);
                Matrix tokens = Initializer.normal(1).draw(EXACT, 32, BudgetLayers.HIDDEN, 5);
                Matrix output = layer.apply(tokens)) {
            double dense = StartScale.dense(layer, tokens, layer.router().routing(tokens, RoutingContext.plain()));
            assertThat(dense).isCloseTo(Norms.squares(output), within(1e-12 * dense));
        }
    }

    private static Parameters even(Parameters old) {
        Map<String, Matrix> all = new TreeMap<>();
        for (String name : old.names()) {
            Matrix value = old.get(name);
            all.put(
                    name,
                    name.equals("router.weight")
                            ? EXACT.matrix(value.rows(), value.columns(), new double[value.rows() * value.columns()])
                            : value.share());
        }
        return Parameters.of(all);
    }

    /** N − R_var·D is 1, −1 and 0 with R_var = 1: its deviation is 1, the error of the ratio √3/9, and half that of the root. */
    @Test
    void theErrorIsThatOfARatioOfSums() {
        ActiveWidths widths = new ActiveWidths(1, 4, 4);
        MergeScale scale = MergeScale.of(ScaledMerge.olmo(widths), widths, 1);
        StartScale found =
                StartScale.of(BudgetVariant.ADDITIVE, 2, scale, new double[] {3, 3, 3}, new double[] {2, 4, 3});
        assertThat(found.predicted()).isEqualTo(1);
        assertThat(found.measured()).isEqualTo(1);
        assertThat(found.standardError()).isCloseTo(Math.sqrt(3) / 9 / 2, within(1e-15));
    }

    @Test
    void fourErrorsAreTheLimit() {
        assertThat(new StartScale(BudgetVariant.NONE, 1, 1, 1.039, 0.01).holds())
                .isTrue();
        assertThat(new StartScale(BudgetVariant.NONE, 1, 1, 1.041, 0.01).holds())
                .isFalse();
        assertThat(new StartScale(BudgetVariant.NONE, 1, 1, 0.959, 0.01).holds())
                .isFalse();
        assertThat(new StartScale(BudgetVariant.NONE, 1, 1, Double.NaN, 0.01).holds())
                .isFalse();
    }

    /** With the starts of the study a prediction that is 5 % off is found. */
    @ParameterizedTest
    @EnumSource(BudgetVariant.class)
    void aWrongPredictionIsFound(BudgetVariant variant) {
        StartScale right =
                StartScale.measure(variant, EXACT, 1, BudgetSettings.full().starts());
        assertThat(right.holds()).isTrue();
        for (double factor : new double[] {0.95, 1.05}) {
            double wrong = factor * right.predicted();
            assertThat(new StartScale(variant, 1, wrong, right.measured(), right.standardError()).holds())
                    .isFalse();
        }
    }
}
