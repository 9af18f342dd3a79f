package org.moe4j.merge.rewrite;

import java.util.List;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Parameters;

/** The matrices of one expert at a public door: their names, their backend, their shapes. */
final class ExpertMatrices {
    private ExpertMatrices() {}

    static Matrix up(Parameters expert) {
        return expert.get(BankPart.UP.key());
    }

    static void requireNames(String argument, Parameters expert, Activation activation, boolean biases) {
        List<String> names =
                BankPart.of(activation, biases).stream().map(BankPart::key).toList();
        for (String name : names) {
            if (!expert.names().contains(name)) {
                throw Require.expected(argument, "a matrix named " + name, "a set without it");
            }
        }
        for (String name : expert.names()) {
            if (!names.contains(name)) {
                throw Require.expected(argument, "only matrices named " + names, name);
            }
        }
    }

    /** Refuses what is not one expert of the shape, whose sizes come from what {@code why} says. */
    static void require(String argument, Parameters expert, ExpertShape shape, Backend backend, String why) {
        requireNames(argument, expert, shape.activation(), shape.biases());
        for (BankPart part : BankPart.of(shape.activation(), shape.biases())) {
            Matrix matrix = expert.get(part.key());
            String name = argument + "." + part.key();
            KernelChecks.owner(name, matrix, backend);
            int rows = part.rows(shape.hiddenSize(), shape.intermediateSize());
            int columns = part.columns(shape.hiddenSize(), shape.intermediateSize());
            KernelChecks.shape(name, matrix, rows, columns, why);
        }
    }
}
