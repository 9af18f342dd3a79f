package org.moe4j.bench.cli;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;

/**
 * The {@code moe} command; its subcommands do the work.
 *
 * <p>Exit status: 0 done, 1 the work failed, 2 wrong usage. Results go to standard output, all else to standard error.
 */
@Command(
        name = "moe",
        mixinStandardHelpOptions = true,
        versionProvider = Moe.Version.class,
        scope = ScopeType.INHERIT,
        description = "Runs, studies, inspects, rewrites and measures MoE layers.",
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {"0:done", "1:the work failed; standard error says what", "2:wrong usage"},
        subcommands = {
            StudyCommand.class,
            InspectCommand.class,
            RunCommand.class,
            ExplainCommand.class,
            RewriteCommand.class,
            RoutingCommand.class,
            BenchCommand.class
        })
public final class Moe {
    private static final int FAILED = 1;
    private static final int WRONG_USAGE = 2;
    private static final int LONGEST_LINE = 4096;

    @Option(
            names = "--debug",
            scope = ScopeType.INHERIT,
            description = "When the work fails, show the stack trace too.")
    private boolean debug;

    private Moe() {}

    /**
     * Runs one command and exits with its status.
     *
     * @param arguments the command and its options
     */
    public static void main(String[] arguments) {
        System.setProperty("java.awt.headless", "true"); // pictures go to files; no display is needed
        System.exit(checked(execute(commandLine(), arguments), System.out, FileDescriptor.out));
    }

    /**
     * The command line.
     *
     * @return ready to execute
     */
    static CommandLine commandLine() {
        Moe moe = new Moe();
        CommandLine commandLine = new CommandLine(moe);
        commandLine.setCaseInsensitiveEnumValuesAllowed(true);
        commandLine.setExpandAtFiles(false); // a path may begin with @
        commandLine.setParameterExceptionHandler((exception, arguments) -> wrongUsage(exception));
        commandLine.setExecutionExceptionHandler((exception, failed, parsed) -> moe.failed(failed.getErr(), exception));
        return commandLine;
    }

    /**
     * Runs one command. Errors of the JVM, as too little memory or missing natives, are failures of the work like others.
     *
     * @param commandLine made by {@link #commandLine()}
     * @param arguments the command and its options
     * @return exit status
     */
    static int execute(CommandLine commandLine, String... arguments) {
        try {
            return commandLine.execute(arguments);
        } catch (OutOfMemoryError | LinkageError | InternalError e) {
            Moe moe = commandLine.getCommand();
            return moe.failed(commandLine.getErr(), e);
        }
    }

    /** Results that could not be printed are lost: that is a failure, unless the reader has gone and wants no more. */
    static int checked(int status, PrintStream out, FileDescriptor descriptor) {
        if (status != 0 || !out.checkError()) {
            return status;
        }
        try {
            new FileOutputStream(descriptor).write('\n'); // a PrintStream does not say why it failed
        } catch (IOException e) {
            if (String.valueOf(e.getMessage()).contains("Broken pipe")) {
                return status;
            }
            System.err.println("moe: standard output: expected to take all results but was " + e.getMessage());
            return FAILED;
        }
        System.err.println("moe: standard output: expected to take all results but did not");
        return FAILED;
    }

    private static int wrongUsage(ParameterException exception) {
        CommandLine command = exception.getCommandLine();
        PrintWriter err = command.getErr();
        err.println(oneLine("moe", exception));
        err.println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
        err.flush();
        return WRONG_USAGE;
    }

    private int failed(PrintWriter err, Throwable problem) {
        err.println(oneLine("moe", problem));
        if (debug) {
            problem.printStackTrace(err);
        }
        err.flush();
        return FAILED;
    }

    /** Our own messages say what was expected; of others the kind has to be said too. */
    private static String oneLine(String command, Throwable problem) {
        String message = Optional.ofNullable(problem.getMessage()).orElse("");
        if (problem instanceof AccessDeniedException denied) {
            message = denied.getFile() + ": expected a file that can be read or written but access was denied";
        } else if (problem instanceof NoSuchFileException absent && !message.contains("expected")) {
            message = absent.getFile() + ": expected a file but found none";
        } else if (problem instanceof InternalError && message.contains("unsafe memory access")) {
            message = "a mapped file: expected to stay as it is while it is read but was cut short (" + message + ")";
        }
        boolean speaks = message.contains("expected") || problem instanceof ParameterException;
        String kind = speaks ? "" : problem.getClass().getSimpleName() + (message.isEmpty() ? "" : ": ");
        return command + ": " + kind + line(message);
    }

    /** Text with names of others' files in it, as one line of bearable length that does nothing to a terminal. */
    static String line(String text) {
        String shown = text.length() > LONGEST_LINE ? text.substring(0, LONGEST_LINE) + "…" : text;
        return shown.strip().replaceAll("\\s*\\R\\s*", "; ").replaceAll("[\\p{Cc}\\p{Cf}]", "?");
    }

    /** The version of the jar. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Moe.class.getPackage().getImplementationVersion();
            return new String[] {"moe " + (version == null ? "(not from a jar)" : version)};
        }
    }
}
