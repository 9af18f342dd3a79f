package org.moe4j.bench.routing;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A browser without a window, started for one page at a time with an empty profile. */
final class Browser {
    private static final int PATIENCE_SECONDS = 120;

    private final Path program;

    private Browser(Path program) {
        this.program = program;
    }

    /**
     * What a start gave.
     *
     * @param out standard output
     * @param err standard error
     */
    record Outcome(String out, String err) {}

    /** That of the system property {@code moe.browser}, or else a Chromium on the path. */
    static Optional<Browser> find() {
        String given = System.getProperty("moe.browser", "");
        if (!given.isEmpty()) {
            return Optional.of(new Browser(Path.of(given)));
        }
        String[] folders = Optional.ofNullable(System.getenv("PATH")).orElse("").split(File.pathSeparator);
        return Stream.of("chromium", "chromium-browser", "google-chrome")
                .flatMap(name -> Stream.of(folders).map(folder -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .findFirst()
                .map(Browser::new);
    }

    /** Starts it and waits for its end; what it started ends with it, also when it takes too long. */
    Outcome run(Path folder, List<String> options, Path page) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                program.toString(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--enable-logging=stderr",
                "--hide-scrollbars",
                "--user-data-dir=" + Files.createTempDirectory(folder, "profile")));
        command.addAll(options);
        command.add(page.toUri().toString());
        Path out = Files.createTempFile(folder, "out", ".txt");
        Path err = Files.createTempFile(folder, "err", ".txt");
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        boolean ended;
        try {
            ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        Outcome outcome = new Outcome(
                Files.readString(out, StandardCharsets.UTF_8), Files.readString(err, StandardCharsets.UTF_8));
        if (!ended || process.exitValue() != 0) {
            throw new IOException(program + ": expected status 0 within " + PATIENCE_SECONDS + " s but was "
                    + (ended ? process.exitValue() : "still running") + "\n" + outcome.err());
        }
        return outcome;
    }
}
