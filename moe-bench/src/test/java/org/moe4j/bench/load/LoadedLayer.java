package org.moe4j.bench.load;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A layer with a few batches of tokens, and the bits that a call with each of them has to give: those of the first, on one thread. */
final class LoadedLayer implements AutoCloseable {
    private static final int BATCHES = 5;
    private static final int TOP_K = 2;

    private final MoeLayer layer;
    private final List<Matrix> tokens = new ArrayList<>();
    private final List<Matrix> dOutputs = new ArrayList<>();
    private final Matrix unusable;
    private final int[] applied = new int[BATCHES];
    private final int[] passed = new int[BATCHES];

    /** Sizes of a layer and its batches; each batch has one token more than the one before. */
    record Sizes(int tokens, int hidden, int width, int experts) {
        static final Sizes SMALL = new Sizes(2, 16, 16, 4);
        static final Sizes LARGE = new Sizes(60, 128, 256, 16);
    }

    private LoadedLayer(Backend backend, Sizes sizes) {
        RouterConfig config = RouterConfig.topK(sizes.experts(), TOP_K).withRenormalization(new Renormalization.Sum());
        int hidden = sizes.hidden();
        layer = MoeLayer.of(
                        TopKRouter.random(config, hidden, backend, 1),
                        SwiGluExperts.random(new ExpertShape(sizes.experts(), hidden, sizes.width()), backend, 2))
                .withShared(SharedBranch.of(
                        SwiGluExperts.random(new ExpertShape(1, hidden, sizes.width()), backend, 3),
                        ScaledMerge.olmo(new ActiveWidths(TOP_K, sizes.width(), sizes.width()))));
        SplittableRandom random = new SplittableRandom(4);
        for (int batch = 0; batch < BATCHES; batch++) {
            int rows = sizes.tokens() + batch;
            tokens.add(backend.matrix(
                    rows, hidden, random.doubles((long) rows * hidden, -1, 1).toArray()));
            dOutputs.add(backend.matrix(
                    rows, hidden, random.doubles((long) rows * hidden, -1, 1).toArray()));
        }
        double[] bad = random.doubles((long) sizes.tokens() * hidden, -1, 1)
                .map(value -> Math.copySign(Float.MAX_VALUE, value)) // finite, but the router's logits are not
                .toArray();
        unusable = backend.matrix(sizes.tokens(), hidden, bad);
    }

    static LoadedLayer on(Backend backend, Sizes sizes) {
        LoadedLayer made = new LoadedLayer(backend, sizes);
        for (int batch = 0; batch < BATCHES; batch++) {
            made.applied[batch] = made.apply(batch);
            made.passed[batch] = made.pass(batch);
        }
        return made;
    }

    private int apply(int batch) {
        try (Matrix output = layer.apply(tokens.get(batch))) {
            return Arrays.hashCode(output.toArray());
        }
    }

    /** Of the output and of all gradients. */
    private int pass(int batch) {
        try (MoePass pass = layer.forward(tokens.get(batch));
                Matrix output = pass.output();
                Gradients gradients = pass.backward(dOutputs.get(batch))) {
            int hash = Arrays.hashCode(output.toArray());
            hash = 31 * hash + Arrays.hashCode(gradients.input().toArray());
            Parameters ofWeights = gradients.parameters();
            for (String name : new TreeSet<>(ofWeights.names())) {
                hash = 31 * hash + Arrays.hashCode(ofWeights.get(name).toArray());
            }
            return hash;
        }
    }

    boolean hasBitsOf(LoadedLayer other) {
        return Arrays.equals(applied, other.applied) && Arrays.equals(passed, other.passed);
    }

    /** One call, forward and, every fourth, backward; whether it has the right bits. */
    boolean call(int number) {
        int batch = Math.floorMod(number, BATCHES);
        return number % 4 == 0 ? pass(batch) == passed[batch] : apply(batch) == applied[batch];
    }

    /** A call that fails half-way; whether it does. */
    boolean fails() {
        try (MoePass pass = layer.forward(unusable)) {
            return pass == null;
        } catch (ArithmeticException expected) {
            return true;
        }
    }

    @Override
    public void close() {
        layer.close();
        tokens.forEach(Matrix::close);
        dOutputs.forEach(Matrix::close);
        unusable.close();
    }
}
