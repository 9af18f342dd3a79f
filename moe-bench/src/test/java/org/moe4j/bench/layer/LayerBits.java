package org.moe4j.bench.layer;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.vector.VectorBackend;

/**
 * The bits of everything whole layers give, as one hash: outputs of forward and apply, coefficients, losses, gradients of the input and of
 * all parameters; router, experts, shared experts, merge, capacity and noise of every convention that {@link LayerDraw} draws. The
 * numbers that go in are made of whole numbers alone, so that every JVM has the same.
 */
final class LayerBits {
    /** Small layers with all that a call in training has, then layers whose work is shared by threads. */
    static final int SMALL = 44;

    static final int WIDE = 4;
    private static final int TOKENS = 150;

    private LayerBits() {}

    /** Prints the hash, and what the JVM is. */
    public static void main(String[] none) {
        System.out.println("bits " + hash(SMALL, WIDE, Runtime.getRuntime().availableProcessors()) + " of "
                + Runtime.version().feature());
    }

    static String hash(int small, int wide, int workers) {
        MessageDigest digest = sha256();
        for (VectorBackend backend : new VectorBackend[] {VectorBackend.float32(), VectorBackend.float64()}) {
            VectorBackend with = backend.withWorkers(workers);
            for (long seed = 0; seed < small; seed++) {
                add(digest, whole(LayerDraw.of(seed, 1, 24, new int[1]), seed), with);
            }
            for (long seed = 0; seed < wide; seed++) {
                LayerCase drawn = LayerDraw.of(seed, 64, 90, new int[1]).plain();
                int hidden = drawn.sizes().hidden();
                Numbers shape = new Numbers(TOKENS, hidden, new double[TOKENS * hidden]);
                add(digest, whole(drawn.with(shape, shape), seed), with);
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    /** The case with numbers of 23 bits that are no function's result. */
    private static LayerCase whole(LayerCase c, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        LayerCase whole = c;
        for (String name : new TreeMap<>(c.parameters()).keySet()) {
            Numbers of = c.parameters().get(name);
            whole = whole.with(name, numbers(random, of, name.contains("Bias") ? 1 : of.columns()));
        }
        Numbers tokens = c.tokens();
        return whole.with(
                new Numbers(tokens.rows(), tokens.columns(), numbers(random, tokens, 1)),
                new Numbers(tokens.rows(), tokens.columns(), numbers(random, tokens, 1)));
    }

    /** Between ±1, less for long sums. */
    private static double[] numbers(SplittableRandom random, Numbers like, int terms) {
        double unit = 0x1p-23 * Math.scalb(1.0, -(31 - Integer.numberOfLeadingZeros(terms)) / 2);
        double[] numbers = new double[like.values().length];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (random.nextInt(1 << 24) - (1 << 23)) * unit;
        }
        return numbers;
    }

    private static void add(MessageDigest digest, LayerCase c, Backend backend) {
        try (MoeLayer layer = LibraryLayer.of(c, backend);
                Matrix tokens = c.tokens().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c));
                Matrix forward = pass.output();
                Matrix apply = layer.apply(tokens, LibraryLayer.context(c))) {
            add(digest, forward.toArray());
            add(digest, apply.toArray());
            add(digest, pass.auxiliaryLoss());
            for (int t = 0; t < c.sizes().tokens(); t++) {
                for (int rank = 0; rank < pass.routing().count(t); rank++) {
                    add(digest, pass.routing().expert(t, rank));
                    add(digest, pass.coefficients().routed(t, rank));
                }
                for (int i = 0; i < c.shared().widths().size(); i++) {
                    add(digest, pass.coefficients().shared(t, i));
                }
            }
            Map<String, double[]> gradients = new TreeMap<>(LayerChecks.gradients(c, layer, backend));
            gradients.forEach((name, gradient) -> add(digest, gradient));
        }
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException never) {
            throw new IllegalStateException(never);
        }
    }

    static void add(MessageDigest digest, double... values) {
        byte[] bytes = new byte[8];
        for (double value : values) {
            long bits = Double.doubleToLongBits(value);
            for (int i = 0; i < 8; i++) {
                bytes[i] = (byte) (bits >>> (8 * i));
            }
            digest.update(bytes);
        }
    }
}
