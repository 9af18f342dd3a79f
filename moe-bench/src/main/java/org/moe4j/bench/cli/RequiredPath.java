package org.moe4j.bench.cli;

import java.nio.file.Path;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** A path that is wanted: an empty one would mean the current folder, and nobody types that. */
final class RequiredPath {
    private RequiredPath() {}

    static void check(CommandSpec spec, String name, Path path) {
        if (path.toString().isEmpty()) {
            throw new ParameterException(spec.commandLine(), name + ": expected a path but was empty");
        }
    }
}
