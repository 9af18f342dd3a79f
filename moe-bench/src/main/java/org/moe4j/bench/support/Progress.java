package org.moe4j.bench.support;

import java.io.IOException;
import java.util.Optional;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** A progress bar on standard error; nothing at all when standard error is not a terminal. */
public final class Progress implements AutoCloseable {
    private static final int EVERY_MILLISECONDS = 200;

    private final Optional<ProgressBar> bar;

    private Progress(Optional<ProgressBar> bar) {
        this.bar = bar;
    }

    /**
     * Begins.
     *
     * @param task what is done, a word or two
     * @param steps how many steps it takes
     * @return to be stepped and closed
     */
    public static Progress start(String task, long steps) {
        if (!standardErrorIsTerminal()) {
            return new Progress(Optional.empty());
        }
        return new Progress(Optional.of(new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(steps)
                .setStyle(ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(EVERY_MILLISECONDS)
                .build()));
    }

    /** One step is done. */
    public void step() {
        bar.ifPresent(ProgressBar::step);
    }

    /**
     * Several steps are done.
     *
     * @param steps at least 0
     */
    public void step(long steps) {
        bar.ifPresent(any -> any.stepBy(steps));
    }

    /**
     * Asks the shell, for {@code System.console()} speaks of standard input and output only, and differs from JDK to JDK.
     */
    private static boolean standardErrorIsTerminal() {
        try {
            return new ProcessBuilder("sh", "-c", "test -t 2")
                            .redirectError(ProcessBuilder.Redirect.INHERIT)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false; // no shell: better no bar than one in somebody's file
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void close() {
        bar.ifPresent(ProgressBar::close);
    }
}
