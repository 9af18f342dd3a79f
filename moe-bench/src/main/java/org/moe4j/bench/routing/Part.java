package org.moe4j.bench.routing;

import java.util.List;

/**
 * A part of the report: one question.
 *
 * @param key anchor in the page
 * @param title heading
 * @param text what is measured and how it is read, a sentence or two
 * @param sheets its tables
 * @param pictures beside them
 */
public record Part(String key, String title, String text, List<Sheet> sheets, List<Picture> pictures) {
    /**
     * Copies the lists.
     *
     * @param key anchor in the page
     * @param title heading
     * @param text what is measured and how it is read, a sentence or two
     * @param sheets its tables
     * @param pictures beside them
     */
    public Part {
        sheets = List.copyOf(sheets);
        pictures = List.copyOf(pictures);
    }
}
