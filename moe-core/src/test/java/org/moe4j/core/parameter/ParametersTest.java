package org.moe4j.core.parameter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.reference.ReferenceBackend;

class ParametersTest {
    private final Matrix one = ReferenceBackend.instance().matrix(1, 1, new double[] {1});
    private final Matrix two = ReferenceBackend.instance().matrix(1, 1, new double[] {2});

    @Test
    void namesKeepTheirOrderAndTakePrefixes() {
        Parameters both =
                Parameters.of("gate", one).and(Parameters.of("up", two)).prefixed("experts.3");
        assertThat(both.names()).containsExactly("experts.3.gate", "experts.3.up");
        assertThat(both.get("experts.3.up")).isSameAs(two);
        assertThat(both.under("experts").names()).containsExactly("3.gate", "3.up");
        assertThat(both.under("expert").names()).isEmpty();
        assertThat(Parameters.none().names()).isEmpty();
    }

    @Test
    void clashesAndUnknownNamesAreErrors() {
        Parameters gate = Parameters.of("gate", one);
        assertThatThrownBy(() -> gate.and(gate))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("other: expected names that are not in this set yet but was gate");
        assertThatThrownBy(() -> gate.get("gat"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("name: expected one of [gate] but was gat; did you mean gate?");
        assertThatThrownBy(() -> Parameters.of(" ", one)).hasMessageStartingWith("name: expected a dotted name");
        assertThatThrownBy(() -> gate.requireNames(Set.of("up")))
                .hasMessage("parameters: expected a matrix named up but was a set without it");
        assertThatThrownBy(() -> gate.requireNames(Set.of()))
                .hasMessage("parameters: expected only the names [] but was gate");
    }

    @Test
    void ofManyNamesTheErrorShowsSome() {
        Map<String, Matrix> many = new LinkedHashMap<>();
        for (int e = 0; e < 300; e++) {
            many.put("experts." + e + ".gate", one);
        }
        assertThatThrownBy(() -> Parameters.of(many).get("experts.300.gate"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessageStartingWith("name: expected one of [experts.0.gate, experts.1.gate, ")
                .hasMessageContaining("experts.11.gate, … 300 in all] but was experts.300.gate; did you mean experts.");
        Map<String, Matrix> more = new LinkedHashMap<>(many);
        more.put("router.weight", one);
        assertThatThrownBy(() -> Parameters.of(more).requireNames(many.keySet()))
                .hasMessageStartingWith("parameters: expected only the names [experts.0.gate, experts.1.gate, ")
                .hasMessageEndingWith("experts.11.gate, … 300 in all] but was router.weight");
    }

    @Test
    void mapsAndClosesItsMatrices() {
        Parameters changed = Parameters.of("gate", one).map((name, value) -> two);
        assertThat(changed.get("gate")).isSameAs(two);
        changed.close();
        assertThatThrownBy(two::toArray).isInstanceOf(IllegalStateException.class);
        assertThat(one.get(0, 0)).isEqualTo(1);
    }
}
