package org.moe4j.core.backend;

import java.util.Arrays;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/** N rows cut into consecutive groups, one per expert; a group may be empty. */
public final class RowGroups {
    private final int[] bounds; // bounds[g] .. bounds[g + 1] are the rows of group g

    private RowGroups(int[] bounds) {
        this.bounds = bounds;
    }

    /**
     * Groups of the given sizes, in order.
     *
     * @param sizes rows of each group, at least 0 each
     * @return the groups
     * @throws IllegalArgumentException for a negative size or more than 2³¹ − 1 rows
     */
    public static RowGroups ofSizes(int... sizes) {
        int[] bounds = new int[sizes.length + 1];
        for (int g = 0; g < sizes.length; g++) {
            if (sizes[g] < 0) {
                throw Require.expected("sizes", "at least 0 rows", sizes[g] + " in group " + g);
            }
            long end = (long) bounds[g] + sizes[g];
            if (end > Integer.MAX_VALUE) {
                throw Require.expected("sizes", "at most 2^31 - 1 rows in all", end + " after group " + g);
            }
            bounds[g + 1] = (int) end;
        }
        return new RowGroups(bounds);
    }

    /**
     * All rows in one group.
     *
     * @param rows number of rows, at least 0
     * @return one group
     * @throws IllegalArgumentException for {@code rows} below 0
     */
    public static RowGroups single(int rows) {
        return new RowGroups(new int[] {0, Require.atLeast("rows", rows, 0)});
    }

    /**
     * Number of groups.
     *
     * @return at least 0
     */
    public int count() {
        return bounds.length - 1;
    }

    /**
     * Number of rows of all groups together.
     *
     * @return N
     */
    public int rows() {
        return bounds[bounds.length - 1];
    }

    /**
     * First row of a group.
     *
     * @param group index of the group
     * @return inclusive start
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public int from(int group) {
        return bounds[Objects.checkIndex(group, count())];
    }

    /**
     * End of a group.
     *
     * @param group index of the group
     * @return exclusive end
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public int to(int group) {
        return bounds[Objects.checkIndex(group, count()) + 1];
    }

    /**
     * Rows of one group.
     *
     * @param group index of the group
     * @return at least 0
     */
    public int size(int group) {
        return to(group) - from(group);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RowGroups that && Arrays.equals(bounds, that.bounds);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bounds);
    }

    @Override
    public String toString() {
        return "RowGroups" + Arrays.toString(bounds);
    }
}
