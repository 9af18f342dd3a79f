package org.moe4j.core.nd4j;

import java.nio.FloatBuffer;
import java.util.Arrays;
import org.moe4j.core.backend.RowSource;

/** Double precision. */
final class DoubleElements implements Elements {
    private static final ThreadLocal<Tiles> TILES = ThreadLocal.withInitial(Tiles::new);

    private static final class Tiles {
        final double[] a = new double[TILE];
        final double[] b = new double[TILE];
        final double[] wide = new double[TRANSPOSE_ROWS * TRANSPOSE_ROWS];
        final double[] turned = new double[TRANSPOSE_ROWS * TRANSPOSE_ROWS];
    }

    @Override
    public int bytes() {
        return Double.BYTES;
    }

    @Override
    public double unitRoundoff() {
        return 0x1p-53;
    }

    @Override
    public void read(NativeBlock a, long at, double[] into, int from, int count) {
        a.read(at, into, from, count);
    }

    @Override
    public void read(NativeBlock a, long at, float[] into, int count) {
        double[] values = new double[count];
        a.read(at, values, 0, count);
        for (int i = 0; i < count; i++) {
            into[i] = (float) values[i];
        }
    }

    @Override
    public void write(NativeBlock y, long at, double[] values, int from, int count) {
        y.write(at, values, from, count);
    }

    @Override
    public void write(NativeBlock y, long at, float[] values, int from, int count) {
        write(y, at, FloatBuffer.wrap(values), from, count);
    }

    @Override
    public void write(NativeBlock y, long at, FloatBuffer values, int from, int count) {
        double[] tile = TILES.get().a;
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            for (int i = 0; i < part; i++) {
                tile[i] = values.get(from + done + i);
            }
            y.write(at + done, tile, 0, part);
        }
    }

    @Override
    public void write(NativeBlock y, RowSource source, int from, int to, int columns) {
        double[] row = new double[columns];
        for (int i = from; i < to; i++) {
            source.read(i, row);
            y.write((long) i * columns, row, 0, columns);
        }
    }

    @Override
    public void copy(NativeBlock a, long aAt, NativeBlock y, long yAt, int count) {
        double[] tile = TILES.get().a;
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            a.read(aAt + done, tile, 0, part);
            y.write(yAt + done, tile, 0, part);
        }
    }

    @Override
    public void scale(NativeBlock a, long aAt, double factor, NativeBlock y, long yAt, int count) {
        double[] tile = TILES.get().a;
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            a.read(aAt + done, tile, 0, part);
            for (int i = 0; i < part; i++) {
                tile[i] *= factor;
            }
            y.write(yAt + done, tile, 0, part);
        }
    }

    @Override
    public void combine(
            double alpha,
            NativeBlock a,
            long aAt,
            double beta,
            NativeBlock b,
            long bAt,
            NativeBlock y,
            long yAt,
            int count) {
        Tiles tiles = TILES.get();
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            a.read(aAt + done, tiles.a, 0, part);
            b.read(bAt + done, tiles.b, 0, part);
            if (alpha == 1 && beta == 1) {
                DoubleLoops.add(tiles.a, tiles.b, part);
            } else {
                DoubleLoops.combine(alpha, tiles.a, beta, tiles.b, part);
            }
            y.write(yAt + done, tiles.a, 0, part);
        }
    }

    @Override
    public void multiply(NativeBlock a, long aAt, NativeBlock b, long bAt, NativeBlock y, long yAt, int count) {
        Tiles tiles = TILES.get();
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            a.read(aAt + done, tiles.a, 0, part);
            b.read(bAt + done, tiles.b, 0, part);
            DoubleLoops.multiply(tiles.a, tiles.b, part);
            y.write(yAt + done, tiles.a, 0, part);
        }
    }

    @Override
    public void sumRows(
            NativeBlock a, int columns, int[] rows, double[] scales, int from, int to, NativeBlock y, long yAt) {
        Tiles tiles = TILES.get();
        for (int done = 0; done < columns; done += TILE) {
            int part = Math.min(TILE, columns - done);
            Arrays.fill(tiles.b, 0, part, 0);
            for (int j = from; j < to; j++) {
                if (rows[j] >= 0) {
                    a.read((long) rows[j] * columns + done, tiles.a, 0, part);
                    DoubleLoops.addScaled(scales[j], tiles.a, tiles.b, part);
                }
            }
            y.write(yAt + done, tiles.b, 0, part);
        }
    }

    @Override
    public double dot(NativeBlock a, long aAt, NativeBlock b, long bAt, int count) {
        Tiles tiles = TILES.get();
        double sum = 0;
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            a.read(aAt + done, tiles.a, 0, part);
            b.read(bAt + done, tiles.b, 0, part);
            sum += DoubleLoops.dot(tiles.a, tiles.b, part);
        }
        return sum;
    }

    @Override
    public void transpose(NativeBlock a, long aAt, int rows, int columns, NativeBlock y, long yAt, long stride) {
        Tiles tiles = TILES.get();
        for (int r = 0; r < rows; r += TRANSPOSE_ROWS) {
            int height = Math.min(TRANSPOSE_ROWS, rows - r);
            for (int c = 0; c < columns; c += TRANSPOSE_ROWS) {
                int width = Math.min(TRANSPOSE_ROWS, columns - c);
                if (width == columns) {
                    a.read(aAt + (long) r * columns, tiles.wide, 0, height * width);
                } else {
                    for (int i = 0; i < height; i++) {
                        a.read(aAt + (long) (r + i) * columns + c, tiles.wide, i * width, width);
                    }
                }
                DoubleLoops.transpose(tiles.wide, height, width, tiles.turned);
                for (int j = 0; j < width; j++) {
                    y.write(yAt + (c + j) * stride + r, tiles.turned, j * height, height);
                }
            }
        }
    }

    @Override
    public int firstNonFinite(NativeBlock a, long at, int count) {
        double[] tile = TILES.get().a;
        for (int done = 0; done < count; done += TILE) {
            int part = Math.min(TILE, count - done);
            a.read(at + done, tile, 0, part);
            for (int i = 0; i < part; i++) {
                if (!Double.isFinite(tile[i])) {
                    return done + i;
                }
            }
        }
        return -1;
    }
}
