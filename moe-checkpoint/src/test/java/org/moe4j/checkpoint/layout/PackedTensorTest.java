package org.moe4j.checkpoint.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.reference.ReferenceBackend;

class PackedTensorTest {
    /** All tensors of a layer stand in one list while they are written: their numbers would be there twice. */
    @Test
    void aMatrixIsHeldUntilItsLastRowWasRead() {
        int[] asked = {0};
        Sizes sizes = new Sizes(1, 2, 2, 3, 0);
        TensorPattern pattern = TensorPattern.parse("w [F, D]");
        PackedTensor tensor = new PackedTensor(
                List.of(new PackedTensor.Member(LayerPart.UP, pattern, sizes, (part, expert) -> {
                    asked[0]++;
                    return ReferenceBackend.instance().matrix(3, 2, new double[] {1, 2, 3, 4, 5, 6});
                })),
                pattern.axes(),
                List.of(3L, 2L));
        double[] row = new double[2];
        for (int round = 1; round <= 2; round++) {
            for (int i = 0; i < 3; i++) {
                tensor.read(i, row);
                assertThat(row).containsExactly(2 * i + 1, 2 * i + 2);
                assertThat(asked[0]).isEqualTo(round);
            }
        }
    }
}
