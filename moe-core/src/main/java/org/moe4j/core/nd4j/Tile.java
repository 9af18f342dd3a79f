package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.moe4j.core.backend.RowGroups;

/**
 * One task of a grouped product: some rows of one group against some columns of its matrix. Borders depend on the
 * shapes only.
 *
 * @param group index of the group
 * @param groupFrom first row of the group
 * @param groupRows rows of the group
 * @param row first row of the tile, counted from the start of the group
 * @param rows rows of the tile
 * @param column first column
 * @param columns columns of the tile
 */
record Tile(int group, int groupFrom, int groupRows, int row, int rows, int column, int columns) {
    /** Tiles of all groups with rows, those with most rows first, because a long task at the end keeps others waiting. */
    static List<Tile> of(RowGroups groups, int columns) {
        List<Tile> tiles = new ArrayList<>();
        for (int g = 0; g < groups.count(); g++) {
            int size = groups.size(g);
            int parts = (int) (((long) size + HostGemm.ROWS - 1) / HostGemm.ROWS);
            for (int p = 0; p < parts; p++) {
                int from = (int) ((long) size * p / parts);
                int to = (int) ((long) size * (p + 1) / parts);
                for (int c = 0; c < columns; c += HostGemm.BLOCK) {
                    int width = Math.min(HostGemm.BLOCK, columns - c);
                    tiles.add(new Tile(g, groups.from(g), size, from, to - from, c, width));
                }
            }
        }
        tiles.sort(Comparator.comparingInt(Tile::rows).reversed());
        return tiles;
    }

    /** Tiles of the gradient of the wanted groups' matrices: all rows of a group are summed over, empty ones are left out. */
    static List<Tile> ofGradient(RowGroups groups, int outRows, Set<Integer> wanted) {
        List<Tile> tiles = new ArrayList<>();
        for (int g : new TreeSet<>(wanted)) {
            for (int r = 0; r < outRows && groups.size(g) > 0; r += HostGemm.BLOCK) {
                tiles.add(new Tile(
                        g,
                        groups.from(g),
                        groups.size(g),
                        r,
                        Math.min(HostGemm.BLOCK, outRows - r),
                        0,
                        groups.size(g)));
            }
        }
        tiles.sort(Comparator.comparingInt(Tile::groupRows).reversed());
        return tiles;
    }

    /** First row of the tile among all rows. */
    long firstRow() {
        return (long) groupFrom + row;
    }
}
