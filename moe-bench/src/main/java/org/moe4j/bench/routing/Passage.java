package org.moe4j.bench.routing;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.moe4j.checkpoint.trace.TraceFile;

/**
 * A trace of one text.
 *
 * @param name for tables and pictures: the file's name without its ending, one harmless line, the same for no two passages
 * @param trace its tokens
 */
public record Passage(String name, TraceFile trace) {
    private static final int LONGEST_NAME = 40;
    private static final String SYNTHETIC = "moe4j.synthetic";
    private static final int LONGEST_NOTE = 200;

    /**
     * Names traces by their files.
     *
     * @param traces at least one, of as many experts and of the same layers
     * @return one passage for each, in the same order
     * @throws IOException when a trace has other experts or layers than the first
     */
    public static List<Passage> of(List<TraceFile> traces) throws IOException {
        TraceFile first = traces.get(0);
        List<Passage> passages = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (TraceFile trace : traces) {
            if (trace.experts() != first.experts()) {
                throw new IOException(trace.path() + ": expected " + first.experts() + " experts, as in " + first.path()
                        + ", but was " + trace.experts());
            }
            if (!trace.layers().equals(first.layers())) {
                throw new IOException(trace.path() + ": expected the layers " + first.layers() + ", as in "
                        + first.path() + ", but was " + trace.layers());
            }
            String stem = Html.line(stem(trace), LONGEST_NAME);
            String name = stem;
            for (int i = 2; !names.add(name); i++) {
                name = stem + " (" + i + ")";
            }
            passages.add(new Passage(name, trace));
        }
        return passages;
    }

    private static String stem(TraceFile trace) {
        String file = String.valueOf(trace.path().getFileName());
        return file.replaceFirst("(?<=.)\\.(safetensors|npy)$", "");
    }

    /** What the file says of having been made by a generator. */
    Optional<String> synthetic() {
        return Optional.ofNullable(trace.metadata().get(SYNTHETIC)).map(note -> Html.line(note, LONGEST_NOTE));
    }

    /** The file as it was named, as one harmless line. */
    String file() {
        return Html.line(trace.path().toString(), LONGEST_NOTE);
    }
}
