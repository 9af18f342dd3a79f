package org.moe4j.core.backend;

import java.util.function.Supplier;
import org.moe4j.core.backend.Backends.Precision;

/** What can be had in this JVM, or why not, line by line. */
final class BackendsProbe {
    private BackendsProbe() {}

    public static void main(String[] none) {
        print("best", Backends::best);
        for (String name : new String[] {"vector", "nd4j", "reference"}) {
            print(name, () -> Backends.named(name, Precision.FLOAT32));
        }
    }

    private static void print(String what, Supplier<Backend> backend) {
        try {
            System.out.println(what + ": " + backend.get());
        } catch (IllegalStateException e) {
            System.out.println(what + ": " + e.getMessage().replaceAll("\\R", " "));
        }
    }
}
