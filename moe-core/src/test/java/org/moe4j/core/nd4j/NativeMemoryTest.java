package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.testing.Cases;

class NativeMemoryTest {
    private static final long LIMIT = 1 << 20;

    private final NativeMemory memory = new NativeMemory(LIMIT, Long.MAX_VALUE);

    @Test
    void releasedBlocksAreUsedAgain() {
        NativeBlock first = memory.allocate(1000, false);
        assertThat(memory.used()).isEqualTo(NativeMemory.sizeClass(1000)).isGreaterThanOrEqualTo(1000);
        memory.release(first, false);
        assertThat(memory.used()).isZero();
        assertThat(memory.retained()).isEqualTo(first.bytes());
        assertThat(memory.allocate(1001, false)).isSameAs(first);
        memory.release(first, false);
        memory.releaseRetained();
        assertThat(memory.retained()).isZero();
    }

    @Test
    void blocksStartOnACacheLine() {
        for (int bytes : new int[] {1, 64, 100, 4097}) {
            NativeBlock block = memory.allocate(bytes, false);
            assertThat(block.start().address() % NativeBlock.ALIGNMENT).isZero();
            memory.release(block, false);
        }
        memory.releaseRetained();
    }

    @Test
    void zerosAreZeroEvenInUsedMemory() {
        NativeBlock block = memory.allocate(80, false);
        block.write(0, new double[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0, 10);
        memory.release(block, false);
        NativeBlock again = memory.allocate(80, true);
        double[] values = new double[10];
        again.read(0, values, 0, 10);
        assertThat(values).containsExactly(new double[10]);
        memory.release(again, false);
        memory.releaseRetained();
    }

    @Test
    void usedAndRetainedStayBelowThePeak() {
        List<NativeBlock> blocks = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            blocks.add(memory.allocate(LIMIT / 8, false));
        }
        long peak = memory.used();
        blocks.forEach(block -> memory.release(block, false));
        assertThat(memory.retained()).isEqualTo(peak);
        NativeBlock other = memory.allocate(LIMIT, false);
        assertThat(memory.used() + memory.retained()).isLessThanOrEqualTo(peak);
        for (int i = 0; i < 200_000; i++) { // the peak is forgotten
            memory.release(memory.allocate(64, false), false);
        }
        assertThat(memory.retained()).isLessThanOrEqualTo(LIMIT);
        memory.release(other, false);
        memory.releaseRetained();
    }

    @Test
    void sizeClassesWasteAtMostAnEighth() {
        for (long bytes = 1; bytes < 1L << 40; bytes += 1 + bytes / 7) {
            long size = NativeMemory.sizeClass(bytes);
            assertThat(size).isBetween(bytes, Math.max(bytes + bytes / 8, bytes + 63));
            assertThat(NativeMemory.sizeClass(size)).isEqualTo(size);
        }
    }

    @Test
    void impossibleSizesAreAnOutOfMemoryError() {
        assertThatThrownBy(() -> memory.allocate(1L << 60, false))
                .isInstanceOf(OutOfMemoryError.class)
                .hasMessageStartingWith("native memory: no ");
        assertThat(memory.used()).isZero();
    }

    @Test
    void forgottenMatricesAreReleasedWithoutAnExplicitCollection() throws InterruptedException {
        Nd4jBackend backend = Nd4jBackend.float32();
        long peak = 0;
        for (int i = 0; i < 5000; i++) {
            Matrix forgotten = backend.buffer(1024, 1024); // 4 MiB each, never touched: costs no memory
            assertThat(forgotten.rows()).isEqualTo(1024);
            peak = Math.max(peak, NativeMemory.shared().used());
            if (NativeMemory.shared().used() < peak / 2) {
                return;
            }
            Thread.sleep(1);
        }
        throw new AssertionError("nothing was released of " + peak + " bytes");
    }

    /** Views of 128 bytes in place of 1 GiB: the same arithmetic as beyond 2 GiB. */
    @Test
    void stretchesCrossTheBordersOfViews() {
        NativeBlock block = NativeBlock.aligned(Pointer.malloc(1000 + NativeBlock.ALIGNMENT), 1000, 7);
        double[] values = new Cases(1).doubles(125);
        block.write(0, values, 0, 125);
        double[] all = new double[127];
        block.read(0, all, 1, 125);
        for (int i = 0; i < 125; i++) {
            assertThat(all[i + 1]).isEqualTo(values[i]);
        }
        double[] part = new double[40];
        block.read(70, part, 0, 40);
        assertThat(part[39]).isEqualTo(values[109]);
        float[] floats = {1, 2, 3, 4, 5};
        block.write(30, floats, 1, 4);
        float[] back = new float[6];
        block.read(29, back, 0, 6);
        assertThat(back).containsSubsequence(2, 3, 4, 5);
        assertThat(block.address(3, Double.BYTES)).isEqualTo(block.start().address() + 24);
        Pointer.free(block.origin());
    }

    @Test
    void offsetsDoNotOverflow() {
        NativeBuffer buffer = NativeBuffer.allocate(0, false);
        Operand rowMajor = Operand.of(buffer, 0, 100_000).fromRow(90_000).fromColumn(7);
        assertThat(rowMajor.at()).isEqualTo(9_000_000_007L);
        Operand transposed =
                new Operand(buffer, 5, 70_000, true).fromColumn(80_000).fromRow(3);
        assertThat(transposed.at()).isEqualTo(5_600_000_008L);
        assertThat(transposed.flipped().fromRow(2).at()).isEqualTo(5_600_140_008L);
    }

    /** 2.2 GiB of zeros, of which only two pages are touched. */
    @Test
    void matricesMayBeLargerThanTwoGibibytes() {
        Nd4jBackend backend = Nd4jBackend.float32();
        try (Matrix large = backend.buffer(560_000, 1024);
                Matrix row = backend.matrix(1, 1024, new Cases(2).doubles(1024))) {
            backend.accumulate(0, large, 559_999, row);
            assertThat(large.get(559_999, 1023)).isEqualTo(row.get(0, 1023));
            assertThat(large.get(0, 0)).isZero();
            try (Matrix last = backend.gatherRows(large, new int[] {559_999})) {
                assertThat(last.toArray()).containsExactly(row.toArray());
                try (Matrix square = backend.matmulTransB(last, row)) {
                    assertThat(square.get(0, 0)).isPositive();
                }
            }
        }
        NativeMemory.shared().releaseRetained();
    }
}
