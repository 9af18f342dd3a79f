package org.moe4j.bench.routing;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.moe4j.bench.support.FigureFiles;
import org.moe4j.bench.support.OutputFolder;

/**
 * What was found in traces of a routing.
 *
 * @param title of the page
 * @param synthetic what to say of traces that no model made; empty when none says so
 * @param parts in their order
 */
public record Report(String title, Optional<String> synthetic, List<Part> parts) {
    private static final String NAME = "routing";

    /**
     * Copies the list.
     *
     * @param title of the page
     * @param synthetic what to say of traces that no model made; empty when none says so
     * @param parts in their order
     */
    public Report {
        parts = List.copyOf(parts);
    }

    /**
     * Tables one below the other.
     *
     * @return lines, each ended by a line feed
     */
    public String text() {
        StringBuilder text = new StringBuilder();
        synthetic.ifPresent(label -> text.append(label).append("\n\n"));
        for (Part part : parts) {
            for (Sheet sheet : part.sheets()) {
                text.append(text.isEmpty() || text.toString().endsWith("\n\n") ? "" : "\n")
                        .append(sheet.title())
                        .append('\n')
                        .append(sheet.shown().aligned());
            }
        }
        return text.toString();
    }

    /**
     * The same facts with all digits: an array for each table, under its key.
     *
     * @return a JSON object
     */
    public ObjectNode json() {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        root.put("synthetic", synthetic.isPresent());
        parts.forEach(part -> part.sheets().forEach(sheet -> root.set(sheet.key(), sheet.json())));
        return root;
    }

    /**
     * One page that needs no other file.
     *
     * @return an HTML document
     * @throws IOException when a picture cannot be made
     */
    public String html() throws IOException {
        return ReportPage.of(this);
    }

    /**
     * Writes {@code routing.html}, {@code routing-<table>.csv} for each table, and {@code routing-<picture>.svg} and {@code .png} for
     * each picture.
     *
     * @param folder gets them
     * @return the files
     * @throws IOException when one cannot be written
     */
    public List<Path> write(OutputFolder folder) throws IOException {
        // all made before the first is written, so that an interruption hardly ever leaves new files beside old ones
        String page = html();
        Map<String, String> texts = new LinkedHashMap<>();
        Map<String, byte[]> images = new LinkedHashMap<>();
        for (Part part : parts) {
            part.sheets()
                    .forEach(sheet ->
                            texts.put(sheet.key() + ".csv", sheet.exact().csv()));
            for (Picture picture : part.pictures()) {
                texts.put(picture.name() + ".svg", FigureFiles.svg(picture.figure()));
                images.put(picture.name() + ".png", FigureFiles.png(picture.figure()));
            }
        }
        List<Path> files = new ArrayList<>();
        files.add(folder.write(NAME + ".html", page));
        for (Map.Entry<String, String> text : texts.entrySet()) {
            files.add(folder.write(NAME + "-" + text.getKey(), text.getValue()));
        }
        for (Map.Entry<String, byte[]> image : images.entrySet()) {
            files.add(folder.write(NAME + "-" + image.getKey(), image.getValue()));
        }
        return files;
    }
}
