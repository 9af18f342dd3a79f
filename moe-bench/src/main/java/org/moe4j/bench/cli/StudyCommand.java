package org.moe4j.bench.cli;

import picocli.CommandLine.Command;

/** {@code moe study}: one subcommand for each study. */
@Command(
        name = "study",
        description = "Answers a question by measuring: prints a table, writes a page, CSV and a picture.",
        subcommands = {
            BalancingCommand.class,
            MergeScaleCommand.class,
            ReparameterizationCommand.class,
            SharedBudgetCommand.class,
            SharedCollapseCommand.class
        })
final class StudyCommand {}
