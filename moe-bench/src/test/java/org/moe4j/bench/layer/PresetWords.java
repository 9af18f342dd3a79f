package org.moe4j.bench.layer;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.CapacityWords.Rows;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.LayerCase.Routed;
import org.moe4j.bench.layer.LayerCase.Shared;
import org.moe4j.bench.layer.LayerCase.Sizes;
import org.moe4j.bench.layer.LayerCase.Training;
import org.moe4j.bench.layer.RouterWords.Groups;
import org.moe4j.bench.layer.RouterWords.Weighing;

/**
 * A preset file as its format is documented, read once more: every key is read here or known to be text for people, so that a
 * layer of the library that ignores one, or takes it otherwise, differs from the {@link LayerCase} made here.
 */
final class PresetWords {
    private static final Set<String> FOR_PEOPLE = Set.of("name", "source", "note", "defaults", "chosen");

    private final Map<String, String> unread = new TreeMap<>();

    private PresetWords(String name) {
        Properties file = new Properties();
        try (InputStream stream = PresetWords.class.getResourceAsStream("/moe/preset/" + name + ".properties")) {
            file.load(new InputStreamReader(Objects.requireNonNull(stream, name), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        file.forEach((key, value) -> unread.put(key.toString(), value.toString().trim()));
    }

    /**
     * A random layer by the preset at other sizes, with logits of about unit variance and tokens that are away from ties. A
     * preset with a selection bias gets random values for it.
     */
    static LayerCase layer(String name, Sizes sizes) {
        return new PresetWords(name).read(name, sizes);
    }

    private LayerCase read(String name, Sizes sizes) {
        SplittableRandom random = new SplittableRandom(name.hashCode());
        ExpertWords kind = kind();
        Shared shared = new Shared(kind, shared(sizes.width()));
        Routed routed = routed(kind, sizes.hidden());
        RouterWords router = router(random);
        MergeWords merge = merge();
        Optional<CapacityWords> capacity = capacity();
        unread.keySet().removeAll(FOR_PEOPLE);
        unread.keySet().removeIf(key -> key.startsWith("losses.") || key.startsWith("noise.")); // of training
        if (!unread.isEmpty()) {
            throw new IllegalStateException("keys of preset " + name + " without a meaning: " + unread);
        }
        LayerCase empty = new LayerCase(
                name,
                new Sizes(0, sizes.hidden(), sizes.width()),
                router,
                routed,
                shared,
                merge,
                capacity,
                Training.NONE,
                LayerDraw.parameters(
                        random, 1 / Math.sqrt(sizes.hidden()), sizes, router, routed, shared, merge, NoiseWords.NONE),
                new Numbers(0, sizes.hidden(), new double[0]),
                new Numbers(0, sizes.hidden(), new double[0]));
        double alike = capacity.isEmpty() ? 0 : router.experts() < 100 ? 1 : 3;
        Numbers common = LayerDraw.normal(random, 1, sizes.hidden(), alike);
        double[] tokens = new double[sizes.tokens() * sizes.hidden()];
        for (int t = 0; t < sizes.tokens(); t++) {
            System.arraycopy(token(random, empty, common), 0, tokens, t * sizes.hidden(), sizes.hidden());
        }
        return empty.with(
                new Numbers(sizes.tokens(), sizes.hidden(), tokens),
                LayerDraw.normal(random, sizes.tokens(), sizes.hidden(), 1));
    }

    /** A token that is away from ties, near what all have in common where a capacity is to drop some. */
    private static double[] token(SplittableRandom random, LayerCase empty, Numbers common) {
        while (true) {
            Numbers drawn = LayerDraw.normal(random, 1, empty.sizes().hidden(), 1);
            for (int i = 0; i < drawn.columns(); i++) {
                drawn.values()[i] = (float) (drawn.values()[i] + common.values()[i]);
            }
            if (TokenwiseLayer.awayFromJumps(empty.with(drawn, drawn))) {
                return drawn.values();
            }
        }
    }

    private RouterWords router(SplittableRandom random) {
        int experts = (int) number("experts.count", 0);
        boolean biased = flag("router.selectionBias");
        return new RouterWords(
                experts,
                (int) number("router.topK", 0),
                word("router.score", "softmax"),
                number("router.score.epsilon", 0),
                groups(),
                biased ? bias(random, experts) : List.of(),
                flag("router.logitBias"),
                new Weighing(
                        word("router.renormalization", "none"),
                        number("router.renormalization.epsilon", 0),
                        word("router.renormalization.epsilonPlace", "in-sum"),
                        number("router.renormalization.p", 1)),
                number("router.scale", 1),
                word("router.precision", "backend"));
    }

    private ExpertWords kind() {
        return new ExpertWords(
                word("experts.activation", "swiglu"),
                number("experts.activation.alpha", 1),
                number("experts.activation.limit", Double.POSITIVE_INFINITY),
                number("experts.activation.offset", 0),
                flag("experts.biases"));
    }

    /** The latent size in the ratio to the hidden one that the file gives. */
    private Routed routed(ExpertWords kind, int hidden) {
        double full = number("experts.hiddenSize", 0);
        double latent = number("experts.latentSize", 0);
        OptionalInt scaled = latent == 0
                ? OptionalInt.empty()
                : OptionalInt.of((int) Math.max(1, Math.round(latent / full * hidden)));
        return new Routed(kind, scaled, word("experts.weightPlace", "output"));
    }

    private static List<Double> bias(SplittableRandom random, int experts) {
        return IntStream.range(0, experts)
                .mapToObj(e -> (double) (float) random.nextDouble(-0.5, 0.5))
                .toList();
    }

    private Optional<Groups> groups() {
        String selection = word("router.selection", "plain");
        if (!selection.equals("group-limited")) {
            secondExpert(selection);
            return Optional.empty();
        }
        return Optional.of(new Groups(
                (int) number("router.selection.groups", 0),
                (int) number("router.selection.keptGroups", 0),
                word("router.selection.groupScore", ""),
                word("router.selection.closedGroups", "minus-infinity")));
    }

    /** What is left to chance is certain in a call without a seed. */
    private void secondExpert(String selection) {
        word("router.selection.secondExpert", "all");
        number("router.selection.threshold", 0);
        if (!selection.equals("plain") && !selection.equals("top-two")) {
            throw new IllegalStateException("selection " + selection + " without a meaning");
        }
    }

    /** Widths of the shared experts, in the ratio to the routed ones that the file gives: kept apart, or as one. */
    private List<Integer> shared(int width) {
        double routed = number("experts.intermediateSize", 0);
        int count = (int) number("shared.count", 0);
        int each = (int) Math.max(1, Math.round(number("shared.intermediateSize", 0) / routed * width));
        if (flag("shared.apart")) {
            return Collections.nCopies(count, each);
        }
        return count == 0 ? List.of() : List.of(count * each);
    }

    private MergeWords merge() {
        return new MergeWords(
                word("merge.convention", "none"),
                number("merge.routedScale", 1),
                number("merge.sharedScale", 1),
                word("merge.score", "softmax"));
    }

    private Optional<CapacityWords> capacity() {
        Rows rows = new Rows(
                (int) number("capacity.rows", 0),
                number("capacity.factor", 0),
                word("capacity.share", "assignments"),
                word("capacity.rounding", "up"),
                (int) number("capacity.minimum", 0),
                (int) number("capacity.multipleOf", 1),
                word("capacity.zeroRows", "no-limit"));
        String scope = word("capacity.scope", "batch");
        CapacityWords words = new CapacityWords(
                rows,
                scope.equals("groups") ? word("capacity.groupSize", "") : scope,
                word("capacity.order", "position"),
                word("capacity.keptWeights", "unchanged"),
                word("capacity.unserved", "zero"));
        return rows.fixed() == 0 && rows.factor() == 0 ? Optional.empty() : Optional.of(words);
    }

    private String word(String key, String absent) {
        String value = unread.remove(key);
        return value == null ? absent : value;
    }

    private double number(String key, double absent) {
        String value = unread.remove(key);
        return value == null ? absent : Double.parseDouble(value);
    }

    private boolean flag(String key) {
        return word(key, "false").equals("true");
    }
}
