package org.moe4j.router.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKPass;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.loss.RoutedTokens;
import org.moe4j.router.loss.ZLoss;

class RoutingRecorderTest {
    static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    static final int EXPERTS = 6;
    static final int HIDDEN = 5;

    static TopKRouter router(long seed) {
        return TopKRouter.random(RouterConfig.topK(EXPERTS, 2), HIDDEN, BACKEND, seed);
    }

    static TopKRouter varying(long seed) {
        RouterConfig choice = RouterConfig.topK(EXPERTS, 2)
                .withSelection(new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.batch()));
        return TopKRouter.random(choice, HIDDEN, BACKEND, seed);
    }

    static MoeLayer layer(Router router) {
        return MoeLayer.of(router, SwiGluExperts.random(new ExpertShape(EXPERTS, HIDDEN, 4), BACKEND, 9));
    }

    static Matrix tokens(long seed, int tokens) {
        Random random = new Random(seed);
        return BACKEND.matrix(
                tokens, HIDDEN, random.doubles((long) tokens * HIDDEN, -2, 2).toArray());
    }

    static void assertSame(Routing actual, Routing expected) {
        assertThat(actual.tokens()).isEqualTo(expected.tokens());
        assertThat(actual.experts()).isEqualTo(expected.experts());
        for (int t = 0; t < expected.tokens(); t++) {
            assertSame(actual, t, expected, t);
        }
    }

    private static void assertSame(Routing actual, int token, Routing expected, int other) {
        assertThat(actual.count(token)).isEqualTo(expected.count(other));
        for (int rank = 0; rank < expected.count(other); rank++) {
            assertThat(actual.expert(token, rank)).isEqualTo(expected.expert(other, rank));
            assertThat(actual.weight(token, rank)).isEqualTo(expected.weight(other, rank));
        }
    }

    private static void assertSameRun(MoeLayer layer, MoeLayer recorded, RoutingContext context) {
        try (Matrix tokens = tokens(1, 17);
                Matrix dOutput = tokens(2, 17);
                MoePass pass = layer.forward(tokens, context);
                MoePass other = recorded.forward(tokens, context);
                Gradients gradients = pass.backward(dOutput);
                Gradients others = other.backward(dOutput)) {
            assertThat(other.output().toArray()).containsExactly(pass.output().toArray());
            assertThat(other.routerPass()).isInstanceOf(TopKPass.class);
            assertThat(others.input().toArray())
                    .containsExactly(gradients.input().toArray());
            assertThat(others.parameters().names())
                    .isEqualTo(gradients.parameters().names());
            for (String name : gradients.parameters().names()) {
                assertThat(others.parameters().get(name).toArray())
                        .as(name)
                        .containsExactly(gradients.parameters().get(name).toArray());
            }
            assertThat(recorded.apply(tokens, context).toArray())
                    .containsExactly(layer.apply(tokens, context).toArray());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void recordingChangesNothing(boolean withLogits) {
        RoutingRecorder recorder =
                withLogits ? RoutingRecorder.withLogits(MaskedRows.LEFT_OUT) : RoutingRecorder.of(MaskedRows.LEFT_OUT);
        for (TopKRouter router : List.of(router(3), varying(3), router(4).withLosses(new ZLoss(0.1)))) {
            MoeLayer layer = layer(router);
            Router recorded = recorder.router("0", router);
            assertSameRun(layer, layer.withRouter(recorded), RoutingContext.plain());
            assertSameRun(
                    layer, layer.withRouter(recorded), RoutingContext.plain().withSeed(5));
            assertThat(recorded.experts()).isEqualTo(EXPERTS);
            assertThat(recorded.topK()).isEqualTo(2);
            assertThat(recorded.fixedCount()).isEqualTo(router.fixedCount());
            assertThat(recorded.unitSum()).isEqualTo(router.unitSum());
            assertThat(recorded.scale()).isEqualTo(router.scale());
            assertThat(recorded.tokenWidth()).isEqualTo(router.tokenWidth());
        }
        // three routers, two contexts each, a forward and an apply of 17 tokens
        assertThat(recorder.trace().layer("0").routing().tokens()).isEqualTo(3 * 2 * 2 * 17);
    }

    @Test
    void everyCallAppendsItsTokensWithTheirLogits() {
        RoutingRecorder recorder = RoutingRecorder.withLogits(MaskedRows.RECORDED);
        TopKRouter inner = router(3);
        Router recorded = recorder.router("a", inner);
        List<TopKPass> passes = new ArrayList<>();
        for (int call = 0; call < 40; call++) {
            Matrix tokens = tokens(call, call % 5);
            passes.add((TopKPass) recorded.route(tokens, RoutingContext.plain()));
        }
        assertAll(recorder.trace().layer("a"), passes);
        assertAll(recorder.drain().layer("a"), passes);
        assertThat(recorder.trace().layer("a").routing().tokens()).isZero();
        assertThat(recorder.trace().layer("a").routing().topK()).isEqualTo(2);
        passes.clear();
        passes.add((TopKPass) recorded.route(tokens(1, 3), RoutingContext.plain()));
        assertAll(recorder.trace().layer("a"), passes);
    }

    private static void assertAll(RecordedLayer layer, List<TopKPass> passes) {
        int at = 0;
        for (TopKPass pass : passes) {
            int count = pass.routing().tokens();
            assertSame(layer.part(at, count), pass.routing());
            double[] logits = new double[count * EXPERTS];
            layer.logits().orElseThrow().read(at, count, logits);
            assertThat(logits).containsExactly(pass.logits());
            at += count;
        }
        assertThat(layer.routing().tokens()).isEqualTo(at);
        assertThat(layer.source().tokens()).isEqualTo(at);
    }

    @Test
    void maskedRowsAreLeftOutOrRecordedAsTheRuleSays() {
        boolean[] valid = {true, false, false, true, true};
        RoutingContext context = RoutingContext.plain().withValid(RowMask.of(valid));
        TopKRouter inner = router(3);
        Routing all = inner.routing(tokens(1, 5), context);
        for (MaskedRows rule : MaskedRows.values()) {
            for (RoutingRecorder recorder : List.of(RoutingRecorder.of(rule), RoutingRecorder.withLogits(rule))) {
                Router recorded = recorder.router("a", inner);
                recorded.routing(tokens(1, 5), context);
                recorded.route(tokens(1, 5), context);
                RecordedLayer layer = recorder.trace().layer("a");
                int at = 0;
                for (int call = 0; call < 2; call++) {
                    for (int t = 0; t < 5; t++) {
                        if (valid[t] || rule == MaskedRows.RECORDED) {
                            assertSame(layer.routing(), at++, all, t);
                        }
                    }
                }
                assertThat(layer.routing().tokens()).isEqualTo(at);
                layer.logits()
                        .ifPresent(source -> assertThat(source.tokens())
                                .isEqualTo(layer.routing().tokens()));
            }
        }
    }

    @Test
    void aRouterOfOtherParametersIsRecordedToo() {
        RoutingRecorder recorder = RoutingRecorder.of(MaskedRows.LEFT_OUT);
        Router recorded = recorder.router("a", router(3));
        TopKRouter other = router(4);
        try (Parameters parameters = other.parameters();
                Router changed = recorded.withParameters(parameters);
                Parameters read = changed.parameters()) {
            changed.routing(tokens(1, 7), RoutingContext.plain());
            assertThat(read.get("weight").toArray())
                    .containsExactly(parameters.get("weight").toArray());
        }
        assertSame(recorder.trace().layer("a").routing(), other.routing(tokens(1, 7), RoutingContext.plain()));
    }

    /** Each thread has a layer of its own, and one is of both; a call's tokens stay together. */
    @Test
    void threadsRecordAtOnce() throws Exception {
        RoutingRecorder recorder = RoutingRecorder.withLogits(MaskedRows.LEFT_OUT);
        int calls = 300;
        TopKRouter inner = router(3);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        List<Future<?>> done = new ArrayList<>();
        for (int thread = 0; thread < 2; thread++) {
            int own = thread;
            done.add(threads.submit(() -> {
                Router alone = recorder.router("own" + own, inner);
                Router shared = recorder.router("shared", inner);
                for (int call = 0; call < calls; call++) {
                    alone.route(tokens(own, 4), RoutingContext.plain());
                    shared.route(tokens(own, 4), RoutingContext.plain());
                }
            }));
        }
        RoutingTrace early = recorder.drain();
        for (Future<?> each : done) {
            each.get();
        }
        threads.shutdown();
        Routing[] chosen = {
            inner.routing(tokens(0, 4), RoutingContext.plain()), inner.routing(tokens(1, 4), RoutingContext.plain())
        };
        RoutingTrace rest = recorder.trace();
        assertThat(tokensOf(early, "shared") + tokensOf(rest, "shared")).isEqualTo(2 * calls * 4);
        for (int thread = 0; thread < 2; thread++) {
            RecordedLayer layer = rest.layer("own" + thread);
            assertThat(tokensOf(early, "own" + thread) + layer.routing().tokens())
                    .isEqualTo(calls * 4);
            for (int at = 0; at < layer.routing().tokens(); at += 4) {
                assertSame(layer.part(at, 4), chosen[thread]);
            }
        }
        Routing shared = rest.layer("shared").routing();
        assertThat(shared.tokens() % 4).isZero();
        for (int at = 0; at < shared.tokens(); at += 4) {
            Routing call = rest.layer("shared").part(at, 4);
            boolean first = call.expert(0, 0) == chosen[0].expert(0, 0) && call.weight(0, 0) == chosen[0].weight(0, 0);
            assertSame(call, chosen[first ? 0 : 1]);
        }
    }

    private static int tokensOf(RoutingTrace trace, String layer) {
        return trace.layers().contains(layer) ? trace.layer(layer).routing().tokens() : 0;
    }

    @Test
    void whatCannotBeRecordedIsRefused() {
        RoutingRecorder recorder = RoutingRecorder.withLogits(MaskedRows.LEFT_OUT);
        recorder.router("first", router(3));
        assertThatThrownBy(
                        () -> recorder.router("first", TopKRouter.random(RouterConfig.topK(4, 1), HIDDEN, BACKEND, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("router: expected 6 experts (of layer first before) but was 4");
        Routing routing = Routing.of(EXPERTS, 1, new int[] {1}, new double[] {1});
        Router withoutLogits = recorder.router("other", ReplayRouter.of(routing));
        assertThatThrownBy(() -> withoutLogits.route(tokens(1, 1), RoutingContext.plain()))
                .hasMessage("router of layer other: expected one whose passes have logits (RoutedTokens) but was Pass;"
                        + " record without logits");
        assertThatThrownBy(() -> recorder.trace().layer("fist"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("layer: expected one of [first, other] but was fist; did you mean first?");
        assertThat(recorder.trace().layers()).containsExactly("first", "other");
        assertThat(recorder.trace().toString()).contains("first=RecordedLayer[routing=Routing[0 tokens");
    }

    @Test
    void partsAreOfTheRecord() {
        RecordedLayer layer = RecordedLayer.of(Routing.of(3, 1, new int[] {0, 1, 2}, new double[] {1, 2, 3}));
        assertThat(layer.part(1, 2).weight(1, 0)).isEqualTo(3);
        assertThat(layer.part(3, 0).topK()).isEqualTo(1);
        assertThatThrownBy(() -> layer.part(2, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(layer.logits()).isEmpty();
        RoutedTokens pass = router(1).route(tokens(1, 2), RoutingContext.plain());
        assertThatThrownBy(() -> new RecordedLayer(layer.routing(), Optional.of(LogitSource.of(3, pass.logits()))))
                .hasMessage("logits: expected 3 tokens (of the routing) but was 4");
    }
}
