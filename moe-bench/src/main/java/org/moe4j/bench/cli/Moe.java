package org.moe4j.bench.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The {@code moe} command; its subcommands do the work. */
@Command(name = "moe", mixinStandardHelpOptions = true, description = "Studies, inspects and runs MoE layers.")
public final class Moe implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    private Moe() {}

    /**
     * Runs one command and exits with its status.
     *
     * @param arguments the command and its options
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Moe()).execute(arguments));
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "command: expected one of the commands but was none");
    }
}
