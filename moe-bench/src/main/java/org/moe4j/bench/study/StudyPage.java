package org.moe4j.bench.study;

/**
 * The page of a study, in the form that all have.
 *
 * @param title without the mark of a heading
 * @param question one or more lines
 * @param setup one or more lines
 * @param table in Markdown, with a line's end
 * @param verdict what stands below the table
 * @param picture in Markdown
 * @param findings one or more lines
 */
public record StudyPage(
        String title, String question, String setup, String table, String verdict, String picture, String findings) {
    /**
     * The page.
     *
     * @return Markdown; the same for the same texts
     */
    public String markdown() {
        return String.join(
                "\n",
                "# " + title,
                "",
                "## Question",
                "",
                question,
                "",
                "## Setup",
                "",
                setup,
                "",
                "## Table",
                "",
                table,
                verdict,
                "",
                "## Picture",
                "",
                picture,
                "",
                "## What it shows",
                "",
                findings);
    }
}
