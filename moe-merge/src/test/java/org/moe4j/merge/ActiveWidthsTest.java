package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;

class ActiveWidthsTest {
    private static Experts bank(int count, int width) {
        return SwiGluExperts.random(new ExpertShape(count, 3, width), ReferenceBackend.instance(), 1);
    }

    @Test
    void theStudyActivates11520() {
        ActiveWidths widths = ActiveWidths.of(Preset.named("olmo-study"));
        assertThat(widths).isEqualTo(new ActiveWidths(4, 2560, 1280));
        assertThat(widths.active()).isEqualTo(11_520); // Equation 82
    }

    @Test
    void withoutASharedExpertItsWidthIsZero() {
        assertThat(ActiveWidths.of(Preset.named("olmoe-1b-7b"))).isEqualTo(new ActiveWidths(8, 1024, 0));
        assertThat(ActiveWidths.of(PlainRouter.unit(2), bank(3, 5), List.of())).isEqualTo(new ActiveWidths(2, 5, 0));
    }

    @Test
    void widthsOfSeveralSharedExpertsAdd() {
        assertThat(ActiveWidths.of(PlainRouter.unit(2), bank(3, 5), List.of(bank(1, 4), bank(1, 7))))
                .isEqualTo(new ActiveWidths(2, 5, 11));
    }

    @Test
    void theActiveWidthMayExceedAnInt() {
        assertThat(new ActiveWidths(4, Integer.MAX_VALUE, 1).active()).isEqualTo(4L * Integer.MAX_VALUE + 1);
    }

    @Test
    void badWidthsAreRefused() {
        assertThatThrownBy(() -> new ActiveWidths(0, 1, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topK: expected at least 1 but was 0");
        assertThatThrownBy(() -> new ActiveWidths(1, 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("routedWidth: expected at least 1 but was 0");
        assertThatThrownBy(() -> new ActiveWidths(1, 1, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("sharedWidth: expected at least 0 but was -1");
    }
}
