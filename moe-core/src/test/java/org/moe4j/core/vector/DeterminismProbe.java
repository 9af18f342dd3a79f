package org.moe4j.core.vector;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/** Prints lanes of a single-precision vector, and, unless they are asked for alone, a hash of the bits of all cases under two loads. */
final class DeterminismProbe {
    private DeterminismProbe() {}

    public static void main(String[] arguments) {
        int lanes = FloatNumbers.INSTANCE.panel() / 2;
        System.out.println(arguments.length == 0 ? lanes + " " + hash() : lanes);
    }

    private static final List<RowGroups> LOADS =
            List.of(RowGroups.ofSizes(3, 0, 1, 2, 1), RowGroups.ofSizes(40, 1, 0, 17, 6));

    private static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException never) {
            throw new IllegalStateException(never);
        }
    }

    static String hash() {
        MessageDigest digest = digest();
        for (DeterminismCase of : DeterminismCase.all()) {
            VectorBackend backend = of.backend();
            double[] gradients = of.rows(12);
            try (Bank bank = of.bank(backend, of.experts());
                    Matrix tokens = backend.matrix(DeterminismCase.TOKENS, DeterminismCase.HIDDEN, of.rows(11))) {
                for (RowGroups groups : LOADS) {
                    int[] index = DeterminismCase.index(groups);
                    DeterminismCase.Run run = DeterminismCase.run(backend, bank, tokens, gradients, index, groups);
                    add(digest, run.output);
                    add(digest, run.gradient);
                }
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    /** The same without the library. */
    static String hashOfScalarLoops() {
        MessageDigest digest = digest();
        for (DeterminismCase of : DeterminismCase.all()) {
            List<ScalarExpert> experts = of.experts();
            double[] tokens = of.rows(11);
            double[] gradients = of.rows(12);
            for (RowGroups groups : LOADS) {
                int[] index = DeterminismCase.index(groups);
                for (boolean forward : new boolean[] {true, false}) {
                    for (int e = 0; e < groups.count(); e++) {
                        for (int i = groups.from(e); i < groups.to(e); i++) {
                            double[] x = DeterminismCase.row(tokens, index[i]);
                            double[] d = DeterminismCase.row(gradients, index[i]);
                            add(
                                    digest,
                                    forward
                                            ? experts.get(e).output(x)
                                            : experts.get(e).inputGradient(x, d));
                        }
                    }
                }
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static void add(MessageDigest digest, double[] values) {
        byte[] bytes = new byte[8];
        for (double value : values) {
            long bits = Double.doubleToRawLongBits(value);
            for (int i = 0; i < 8; i++) {
                bytes[i] = (byte) (bits >>> (8 * i));
            }
            digest.update(bytes);
        }
    }
}
