package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.bench.support.HeatFigure;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.UsageDistance;

/** Pictures of the distance between passages. */
final class DistancePictures {
    private static final int MOST_PASSAGES = 6;
    private static final int MOST_IN_MATRIX = 12;
    private static final int MOST_STEPS = 16;

    private final Measures measures;
    private final List<UsageDistance> layers;

    private DistancePictures(Measures measures, List<UsageDistance> layers) {
        this.measures = measures;
        this.layers = layers;
    }

    static List<Picture> of(Measures measures, List<UsageDistance> layers) {
        DistancePictures pictures = new DistancePictures(measures, layers);
        List<Picture> all = new ArrayList<>();
        boolean several = measures.passages().size() > 1;
        if (several && layers.size() > 1) {
            all.add(pictures.byLayer());
        }
        all.add(pictures.usage());
        if (several && measures.passages().size() <= MOST_IN_MATRIX) {
            all.add(pictures.matrix());
        }
        return all;
    }

    private Picture byLayer() {
        List<Point> noise = new ArrayList<>();
        List<Point> cross = new ArrayList<>();
        List<Point> ratio = new ArrayList<>();
        for (int layer = 0; layer < layers.size(); layer++) {
            UsageDistance distance = layers.get(layer);
            double x = layer;
            double[] halves = distance.noise().stream()
                    .mapToDouble(value -> value)
                    .sorted()
                    .toArray();
            double[] pairs = distance.pairs().stream()
                    .mapToDouble(UsageDistance.Pair::distance)
                    .sorted()
                    .toArray();
            noise.add(new Point(x, distance.noiseFloor(), halves[0], halves[halves.length - 1]));
            cross.add(new Point(x, distance.cross(), pairs[0], pairs[pairs.length - 1]));
            distance.crossOverNoise().ifPresent(value -> ratio.add(new Point(x, value, value, value)));
        }
        return new Picture(
                "distance",
                "Above noise, cross says that passages are routed differently; bands reach over passages and over pairs.",
                new LineFigure(
                        "Are different passages routed differently?",
                        LoadPart.sizes(measures),
                        List.of(),
                        "Bands: the passages, and the pairs of passages.",
                        List.of(distance(noise, cross), overNoise(ratio))));
    }

    private LineFigure.Panel distance(List<Point> noise, List<Point> cross) {
        return new LineFigure.Panel(
                "Distance",
                across(),
                new Axis("total variation, 0 to 1", List.of(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), false),
                List.of(),
                List.of(noise, cross),
                List.of("noise: halves of a passage", "cross: different passages"));
    }

    private LineFigure.Panel overNoise(List<Point> ratio) {
        double most = ratio.stream().mapToDouble(Point::y).max().orElse(1);
        return new LineFigure.Panel(
                "Over the noise",
                across(),
                Axis.reaching("cross over noise", Math.max(1, most)),
                List.of(new Reference(1, "as far apart as chance moves halves")),
                List.of(ratio),
                List.of("cross/noise"));
    }

    private Axis across() {
        return new Axis("layer, by its place from 0", ticks(layers.size()), false);
    }

    private static List<Double> ticks(int layers) {
        int last = layers - 1;
        int step = (last + MOST_STEPS - 1) / MOST_STEPS;
        List<Double> ticks = new ArrayList<>();
        for (int layer = 0; layer < last && last - layer >= (step + 1) / 2; layer += step) {
            ticks.add((double) layer);
        }
        ticks.add((double) last);
        return ticks;
    }

    /** The article's picture: halves of the same passage beside other passages. */
    private Picture usage() {
        int experts = measures.experts();
        List<Measures.OfPassage> passages =
                measures.passages().stream().limit(MOST_PASSAGES).toList();
        List<String> rows = passages.stream()
                .flatMap(of -> List.of(of.passage().name() + ", half 1", "half 2").stream())
                .toList();
        List<HeatFigure.Panel> panels = new ArrayList<>();
        for (int layer : measures.shown()) {
            List<List<Double>> values = passages.stream()
                    .map(of -> of.layers().get(layer).usage())
                    .flatMap(usage -> List.of(overEven(usage.first()), overEven(usage.second())).stream())
                    .toList();
            panels.add(new HeatFigure.Panel(
                    "layer " + measures.layers().get(layer),
                    new HeatFigure.Side("passage", rows),
                    new HeatFigure.Side("expert", LoadPart.numbers(experts)),
                    values));
        }
        return new Picture(
                "usage",
                "Compare a passage's halves with each other, which is noise, and with other passages.",
                new HeatFigure(
                        "Which experts do the halves of each passage use?",
                        LoadPart.sizes(measures),
                        LoadPart.overEven(panels),
                        panels));
    }

    private static List<Double> overEven(ExpertLoad load) {
        return Arrays.stream(load.shares())
                .mapToObj(share -> share * load.experts())
                .toList();
    }

    private Picture matrix() {
        int count = measures.passages().size();
        HeatFigure.Side side = new HeatFigure.Side(
                "passage",
                measures.passages().stream().map(of -> of.passage().name()).toList());
        List<HeatFigure.Panel> panels = new ArrayList<>();
        for (int layer : measures.shown()) {
            double[][] values = new double[count][count];
            UsageDistance distance = layers.get(layer);
            for (int i = 0; i < count; i++) {
                values[i][i] = distance.noise().get(i);
            }
            for (UsageDistance.Pair pair : distance.pairs()) {
                values[pair.first()][pair.second()] = pair.distance();
                values[pair.second()][pair.first()] = pair.distance();
            }
            panels.add(new HeatFigure.Panel(
                    "layer " + measures.layers().get(layer),
                    side,
                    side,
                    IntStream.range(0, count)
                            .mapToObj(i -> Arrays.stream(values[i]).boxed().toList())
                            .toList()));
        }
        return new Picture(
                "distance-matrix",
                "On the diagonal the halves of each passage.",
                new HeatFigure(
                        "How far apart are the passages?",
                        LoadPart.sizes(measures),
                        new Axis("total variation, 0 to 1", List.of(0.0, 0.2, 0.4, 0.6, 0.8, 1.0), false),
                        panels));
    }
}
