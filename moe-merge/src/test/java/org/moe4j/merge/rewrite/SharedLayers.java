package org.moe4j.merge.rewrite;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.SharedScore;

/** Small layers with shared experts for the tests of their collapse, D = 4, and parts that are not the library's. */
final class SharedLayers {
    static final Backend BACKEND = ReferenceBackend.instance();
    static final int HIDDEN = 4;
    static final Activation SWIGLU = new Activation.SwiGlu();

    private SharedLayers() {}

    static Matrix random(int rows, int columns, long seed) {
        double[] values = new SplittableRandom(seed)
                .doubles((long) rows * columns, -1.5, 1.5)
                .toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    static Experts plain(int width, Activation activation, boolean biases, long seed) {
        return FeedForwardExperts.random(new ExpertShape(1, HIDDEN, width, activation, biases), BACKEND, seed);
    }

    static Experts swiGlu(int width, long seed) {
        return SwiGluExperts.random(new ExpertShape(1, HIDDEN, width), BACKEND, seed);
    }

    static List<Experts> experts(Activation activation, boolean biases, long seed, int... widths) {
        List<Experts> experts = new ArrayList<>();
        for (int width : widths) {
            experts.add(plain(width, activation, biases, 100 * seed + experts.size()));
        }
        return experts;
    }

    /** A layer of 3 routed experts of width 5, 2 for each token, and these shared ones. */
    static MoeLayer layer(OutputMerge merge, List<Experts> shared) {
        return MoeLayer.of(new EvenRouter(3, 2), SwiGluExperts.random(new ExpertShape(3, HIDDEN, 5), BACKEND, 9))
                .withShared(new SharedBranch(shared, merge));
    }

    static MoeLayer layer(OutputMerge merge, Experts... shared) {
        return layer(merge, Arrays.asList(shared));
    }

    /** A gate with the given row for each of n experts. */
    static GatedMerge gate(SharedScore score, double[]... rows) {
        double[] all = Arrays.stream(rows).flatMapToDouble(Arrays::stream).toArray();
        return new GatedMerge(BACKEND.matrix(rows.length, rows[0].length, all), score);
    }

    static GatedMerge equalGates(SharedScore score, int experts, long seed) {
        double[] row = new SplittableRandom(seed).doubles(HIDDEN, -1, 1).toArray();
        double[][] rows = new double[experts][];
        Arrays.fill(rows, row);
        return gate(score, rows);
    }

    /** Largest difference of two outputs, as a multiple of the largest number. */
    static double distance(Matrix a, Matrix b) {
        return Tolerance.distance(b.toArray(), a.toArray()) / Tolerance.maxNorm(a.toArray());
    }

    /** Experts that are someone else's, whatever they do. */
    record OwnExperts(Experts inner) implements Experts {
        @Override
        public ExpertShape shape() {
            return inner.shape();
        }

        @Override
        public Backend backend() {
            return inner.backend();
        }

        @Override
        public ExpertsPass forward(Matrix tokens, int[] rows, RowGroups groups) {
            return inner.forward(tokens, rows, groups);
        }

        @Override
        public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
            return inner.apply(tokens, rows, groups);
        }

        @Override
        public Parameters parameters() {
            return inner.parameters();
        }

        @Override
        public Experts withParameters(Parameters parameters) {
            return new OwnExperts(inner.withParameters(parameters));
        }

        @Override
        public void close() {
            inner.close();
        }
    }

    /** A merge that is someone else's, whatever it does. */
    record OwnMerge(OutputMerge inner) implements OutputMerge {
        @Override
        public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
            return inner.merge(tokens, routed, shared);
        }

        @Override
        public void requireFits(Router router, Experts routed, List<Experts> shared) {
            inner.requireFits(router, routed, shared);
        }

        @Override
        public void requirePlace(WeightPlace place) {
            inner.requirePlace(place);
        }

        @Override
        public Parameters parameters() {
            return inner.parameters();
        }

        @Override
        public OutputMerge withParameters(Parameters parameters) {
            return new OwnMerge(inner.withParameters(parameters));
        }
    }
}
