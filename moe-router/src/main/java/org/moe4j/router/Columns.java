package org.moe4j.router;

/**
 * Finds the numbers of a token that reach a level, without branches, which could not be foretold: E numbers are read as four rows, the
 * columns that reach the level are found by their maxima, then the members of these columns. The maxima are made by loops over arrays
 * from their start, of which the JVM's compiler makes vector instructions. The last numbers, when four does not divide E, stand alone.
 *
 * <p>The two precisions are two classes, as Java has no generic primitives.
 */
final class Columns {
    private Columns() {}

    /** In double precision. */
    static final class OfDoubles {
        private final double[] halves;
        private final double[] quarters;
        private final int[] hit;

        OfDoubles(int experts) {
            quarters = new double[experts / 4];
            halves = new double[2 * quarters.length];
            hit = new int[quarters.length + 1];
        }

        /** Finds the maxima of the columns. */
        void fold(double[] ranked) {
            fold(ranked, halves);
            fold(halves, quarters);
        }

        private static void fold(double[] from, double[] into) {
            System.arraycopy(from, into.length, into, 0, into.length);
            for (int i = 0; i < into.length; i++) {
                into[i] = Math.max(into[i], from[i]);
            }
        }

        /** Lists the indices of all numbers that are not below the level, after {@link #fold} of the same numbers. */
        int list(double[] ranked, double lowest, int[] into) {
            double level = lowest == 0 ? -Double.MIN_VALUE : lowest; // −0 less 0 would have the sign of a number below
            int hits = 0;
            for (int q = 0; q < quarters.length; q++) {
                hit[hits] = q;
                hits += reaches(quarters[q], level);
            }
            int size = quarters.length;
            int count = 0;
            for (int from = 0; from < 4 * size; from += size) {
                for (int i = 0; i < hits; i++) {
                    int e = from + hit[i];
                    into[count] = e;
                    count += reaches(ranked[e], level);
                }
            }
            for (int e = 4 * size; e < ranked.length; e++) {
                into[count] = e;
                count += reaches(ranked[e], level);
            }
            return count;
        }

        /** 1 for a number that is not below the level, else 0: by the sign of the difference. */
        private static int reaches(double number, double level) {
            return 1 + (int) (Double.doubleToRawLongBits(number - level) >> 63);
        }
    }

    /** In single precision. */
    static final class OfFloats {
        private final float[] halves;
        private final float[] quarters;
        private final int[] hit;

        OfFloats(int experts) {
            quarters = new float[experts / 4];
            halves = new float[2 * quarters.length];
            hit = new int[quarters.length + 1];
        }

        /** Finds the maxima of the columns. */
        void fold(float[] ranked) {
            fold(ranked, halves);
            fold(halves, quarters);
        }

        private static void fold(float[] from, float[] into) {
            System.arraycopy(from, into.length, into, 0, into.length);
            for (int i = 0; i < into.length; i++) {
                into[i] = Math.max(into[i], from[i]);
            }
        }

        /** Lists the indices of all numbers that are not below the level, after {@link #fold} of the same numbers. */
        int list(float[] ranked, float lowest, int[] into) {
            float level = lowest == 0 ? -Float.MIN_VALUE : lowest; // −0 less 0 would have the sign of a number below
            int hits = 0;
            for (int q = 0; q < quarters.length; q++) {
                hit[hits] = q;
                hits += reaches(quarters[q], level);
            }
            int size = quarters.length;
            int count = 0;
            for (int from = 0; from < 4 * size; from += size) {
                for (int i = 0; i < hits; i++) {
                    int e = from + hit[i];
                    into[count] = e;
                    count += reaches(ranked[e], level);
                }
            }
            for (int e = 4 * size; e < ranked.length; e++) {
                into[count] = e;
                count += reaches(ranked[e], level);
            }
            return count;
        }

        /** 1 for a number that is not below the level, else 0: by the sign of the difference. */
        private static int reaches(float number, float level) {
            return 1 + (Float.floatToRawIntBits(number - level) >> 31);
        }
    }
}
