package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.BatchCollapse;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.CoActivation;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.PassageUsage;
import org.moe4j.router.analysis.Passages;
import org.moe4j.router.analysis.RoutingObserver;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.analysis.cache.BeladySimulation;
import org.moe4j.router.analysis.cache.LfuSimulation;
import org.moe4j.router.analysis.cache.LruSimulation;
import org.moe4j.router.analysis.cache.SimulatedHits;
import org.moe4j.router.analysis.device.DevicePlacement;
import org.moe4j.router.analysis.device.DeviceSpread;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.RouterLosses;
import org.moe4j.router.loss.ZLoss;

/** Reads traces, layer by layer and block by block, and makes a report of them. */
public final class RoutingRun {
    /** More experts make a matrix that nobody can read. */
    private static final int MOST_EXPERTS_TOGETHER = 128;

    private final List<Passage> passages;
    private final RoutingSettings settings;
    private final LongConsumer progress;

    private RoutingRun(List<Passage> passages, RoutingSettings settings, LongConsumer progress) {
        this.passages = passages;
        this.settings = settings;
        this.progress = progress;
    }

    /**
     * How far the progress goes.
     *
     * @param passages of as many experts and the same layers
     * @return tokens of all layers, as often as they are read
     */
    public static long steps(List<Passage> passages) {
        long steps = 0;
        for (Passage passage : passages) {
            TraceFile trace = passage.trace();
            long logits = trace.layers().stream()
                    .filter(layer -> trace.logits(layer).isPresent())
                    .count();
            steps += trace.tokens() * (trace.layers().size() + logits);
        }
        long mixed = eachOfMixture(passages) * passages.size() * (passages.size() + 1);
        return steps + mixed * passages.get(0).trace().layers().size();
    }

    /**
     * Reads everything.
     *
     * @param passages of as many experts and the same layers
     * @param settings what is asked
     * @param progress is told of tokens that were read
     * @return the report
     */
    public static Report run(List<Passage> passages, RoutingSettings settings, LongConsumer progress) {
        return RoutingReport.of(new RoutingRun(List.copyOf(passages), settings, progress).measure());
    }

    private Measures measure() {
        int layers = passages.get(0).trace().layers().size();
        Map<Integer, CoActivation.Counter> together = new LinkedHashMap<>();
        int experts = passages.get(0).trace().experts();
        if (experts <= MOST_EXPERTS_TOGETHER) {
            Measures.shown(layers).forEach(layer -> together.put(layer, new CoActivation.Counter(experts)));
        }
        List<Measures.OfPassage> all = new ArrayList<>();
        for (Passage passage : passages) {
            List<LayerMeasures> measures = new ArrayList<>();
            for (int layer = 0; layer < layers; layer++) {
                List<RoutingObserver> more = new ArrayList<>();
                Optional.ofNullable(together.get(layer)).ifPresent(more::add);
                measures.add(layer(passage, passage.trace().layers().get(layer), more));
            }
            all.add(new Measures.OfPassage(passage, measures, losses(passage)));
        }
        Map<Integer, CoActivation> results = new LinkedHashMap<>();
        together.forEach((layer, counter) -> results.put(layer, counter.result()));
        return new Measures(settings, all, mixture(), results);
    }

    /** One reading of a layer serves all that count its tokens, but for the optimal cache, which has to know them all before. */
    private LayerMeasures layer(Passage passage, String layer, List<RoutingObserver> observers) {
        RoutingSource source = passage.trace().source(layer);
        int experts = source.experts();
        PassageUsage.Counter usage = new PassageUsage.Counter(experts, source.tokens());
        BatchCollapse.Counter batch = new BatchCollapse.Counter(experts);
        List<DeviceSpread> contiguous = settings.devices().stream()
                .map(count -> new DeviceSpread(DevicePlacement.contiguous(experts, count)))
                .toList();
        List<DeviceSpread> strided = settings.devices().stream()
                .map(count -> new DeviceSpread(DevicePlacement.strided(experts, count)))
                .toList();
        LruSimulation lru = new LruSimulation(experts);
        List<LfuSimulation> lfu = settings.caches().stream()
                .map(slots -> new LfuSimulation(experts, slots, LfuSimulation.Counts.KEPT))
                .toList();
        observers.add(usage);
        observers.add(batch);
        observers.addAll(contiguous);
        observers.addAll(strided);
        observers.addAll(lfu);
        if (!lfu.isEmpty()) {
            observers.add(lru);
        }
        observers.add(block -> progress.accept(block.tokens()));
        source.stream(observers);
        List<LayerMeasures.Caches> caches = new ArrayList<>();
        if (!lfu.isEmpty()) {
            SimulatedHits best = BeladySimulation.of(passage.trace().source(layer));
            for (int i = 0; i < lfu.size(); i++) {
                int slots = settings.caches().get(i);
                caches.add(new LayerMeasures.Caches(
                        lru.result().with(slots), lfu.get(i).result(), best.with(slots)));
            }
        }
        List<LayerMeasures.Spread> devices = new ArrayList<>();
        for (int i = 0; i < contiguous.size(); i++) {
            devices.add(new LayerMeasures.Spread(
                    contiguous.get(i).result(), strided.get(i).result()));
        }
        PassageUsage halves = usage.result();
        return new LayerMeasures(
                layer, halves, halves.all(), batch.result(), List.copyOf(devices), List.copyOf(caches));
    }

    /** The losses of a passage, where all its layers have logits. */
    private List<RouterLosses.Running.Value> losses(Passage passage) {
        TraceFile trace = passage.trace();
        List<LogitSource> layers = trace.layers().stream()
                .map(trace::logits)
                .flatMap(Optional::stream)
                .toList();
        if (layers.size() < trace.layers().size()) {
            return List.of();
        }
        List<RouterLoss> losses = new ArrayList<>(RouterLosses.balancing(settings.balance()));
        losses.add(new ZLoss(settings.zLoss()));
        RouterLosses.Running running = RouterLosses.running(losses, layers.size());
        RouterConfig rule = settings.scoring(trace);
        double[] room = new double[0];
        for (int layer = 0; layer < layers.size(); layer++) {
            Optional<RoutingSource> recorded = settings.rule().isPresent()
                    ? Optional.empty()
                    : trace.recorded(trace.layers().get(layer));
            for (long from = 0; from < trace.tokens(); from += RoutingSource.BLOCK) {
                int count = (int) Math.min(RoutingSource.BLOCK, trace.tokens() - from);
                room = room.length == count * trace.experts() ? room : new double[count * trace.experts()];
                layers.get(layer).read(from, count, room);
                RouterConfig routed =
                        recorded.isEmpty() ? rule : replay(rule, recorded.get().block(from, count));
                running.add(layer, routed.routed(room, RoutingContext.plain()));
                progress.accept(count);
            }
        }
        return running.values();
    }

    /** The rule's scores for recorded experts. Losses read no weights, so that none are made. */
    private static RouterConfig replay(RouterConfig rule, ChosenExperts recorded) {
        int[] experts = new int[recorded.slots()];
        Arrays.setAll(experts, recorded::expert);
        Routing routing = Routing.of(recorded.experts(), recorded.topK(), experts, new double[experts.length]);
        return rule.withRenormalization(new Renormalization.None())
                .withSelection(new ExpertSelection.Recorded(routing));
    }

    /** As many tokens of each passage as an N-th of the shortest has. */
    private static long eachOfMixture(List<Passage> passages) {
        long shortest = passages.stream()
                .mapToLong(passage -> passage.trace().tokens())
                .min()
                .orElse(0);
        return passages.size() < 2 ? 0 : shortest / passages.size();
    }

    private Optional<Measures.Mixture> mixture() {
        long each = eachOfMixture(passages);
        if (each == 0) {
            return Optional.empty();
        }
        int count = passages.size();
        List<BatchCollapse> alone = new ArrayList<>();
        List<BatchCollapse> mixed = new ArrayList<>();
        for (String layer : passages.get(0).trace().layers()) {
            List<RoutingSource> firsts = new ArrayList<>();
            for (Passage passage : passages) {
                List<RoutingSource> parts = new ArrayList<>();
                for (int i = 0; i < count; i++) {
                    parts.add(Passages.part(passage.trace().source(layer), i * each, each));
                }
                alone.add(together(parts));
                firsts.add(Passages.part(passage.trace().source(layer), 0, each));
            }
            mixed.add(together(firsts));
        }
        return Optional.of(new Measures.Mixture(each, BatchCollapse.of(alone), BatchCollapse.of(mixed)));
    }

    private BatchCollapse together(List<RoutingSource> parts) {
        BatchCollapse.Counter counter = new BatchCollapse.Counter(parts.get(0).experts());
        RoutingObserver watched = block -> progress.accept(block.tokens());
        Passages.interleaved(parts).stream(List.of(counter, watched));
        return counter.result();
    }
}
