package org.moe4j.bench.sweep;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LimitsResult.Machine;
import org.moe4j.bench.limits.PlainExpert;
import org.moe4j.bench.support.Progress;
import org.moe4j.bench.timing.Alternation;
import org.moe4j.bench.timing.Times;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Measures, in a JVM of its own: all K on one bank, in turn. */
final class TopKSweepMeasurement {
    private static final int FULL_TURNS = 11;
    private static final int QUICK_TURNS = 3;

    private final TopKSweep sweep;
    private final FeedForwardExperts bank;
    private final Matrix tokens;
    private final Map<Integer, double[]> lastToken = new HashMap<>(); // what experts make of it, by plain loops

    private TopKSweepMeasurement(TopKSweep sweep, FeedForwardExperts bank, Matrix tokens) {
        this.sweep = sweep;
        this.bank = bank;
        this.tokens = tokens;
    }

    /**
     * Measures.
     *
     * @param arguments a file with the sweep, which the result takes the place of
     * @throws Exception when the file cannot be read or written, or a layer is wrong
     */
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        File file = new File(arguments[0]);
        TopKSweep sweep = mapper.readValue(file, TopKSweep.class);
        try (Progress progress = Progress.start("topk-sweep", sweep.topKs().size() + turns(sweep))) {
            mapper.writeValue(file, measure(sweep, alternation(sweep), progress::step));
        }
        System.exit(0); // whatever threads of libraries are left
    }

    private static int turns(TopKSweep sweep) {
        return sweep.quick() ? QUICK_TURNS : FULL_TURNS;
    }

    private static Alternation alternation(TopKSweep sweep) {
        return new Alternation(sweep.quick() ? 0.2 : 1, 0, turns(sweep), turns(sweep), 0);
    }

    static TopKSweepResult measure(TopKSweep sweep, Alternation alternation, Runnable step) throws Exception {
        Backend backend = sweep.kind().backend();
        int experts = sweep.size().experts();
        int hiddenSize = sweep.size().hiddenSize();
        ExpertShape shape = new ExpertShape(experts, hiddenSize, sweep.size().intermediateSize());
        try (Unfinished made = new Unfinished()) { // closes all of it in any case
            FeedForwardExperts bank = made.add(sweep.kind().experts(shape, 1));
            TopKRouter router =
                    made.add(TopKRouter.random(RouterConfig.topK(experts, experts), hiddenSize, backend, 2));
            Matrix tokens = made.add(Initializer.normal(1).draw(backend, sweep.tokens(), hiddenSize, 3));
            Matrix output = made.add(backend.buffer(sweep.tokens(), hiddenSize));
            List<MoeLayer> layers = new ArrayList<>();
            for (int topK : sweep.topKs()) {
                layers.add(MoeLayer.of(made.add(router.withTopK(topK)), bank));
            }
            return new TopKSweepMeasurement(sweep, bank, tokens).run(layers, output, alternation, step);
        }
    }

    private TopKSweepResult run(List<MoeLayer> layers, Matrix output, Alternation alternation, Runnable step)
            throws Exception {
        List<Alternation.Call> calls = new ArrayList<>();
        List<Integer> experts = new ArrayList<>();
        for (MoeLayer layer : layers) {
            Routing routing = layer.router().routing(tokens, RoutingContext.plain());
            layer.applyInto(tokens, output);
            check(routing, output);
            experts.add((int) Arrays.stream(routing.tokensPerExpert())
                    .filter(count -> count > 0)
                    .count());
            calls.add(() -> layer.applyInto(tokens, output));
            step.run();
        }
        List<Times> times = alternation.run(calls, step);
        List<TopKSweepResult.Row> rows = new ArrayList<>();
        for (int i = 0; i < times.size(); i++) {
            rows.add(new TopKSweepResult.Row(sweep.topKs().get(i), times.get(i), experts.get(i)));
        }
        return new TopKSweepResult(sweep, Machine.here(), rows);
    }

    /** Compares the last token with loops in double: a wrong layer is not worth a measurement. */
    private void check(Routing routing, Matrix output) {
        int last = tokens.rows() - 1;
        double[] x = CheckedLayer.row(tokens, last);
        double[] expected = new double[x.length];
        for (int rank = 0; rank < routing.count(last); rank++) {
            double[] one = lastToken.computeIfAbsent(routing.expert(last, rank), expert -> {
                double[] result = new double[x.length];
                PlainExpert.of(bank, expert).add(1, x, result);
                return result;
            });
            for (int d = 0; d < expected.length; d++) {
                expected[d] += routing.weight(last, rank) * one[d];
            }
        }
        CheckedLayer.compare(
                expected, CheckedLayer.row(output, last), bank.backend().unitRoundoff());
    }
}
