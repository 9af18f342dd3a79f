package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.RouterWords.Groups;
import org.moe4j.bench.layer.RouterWords.Weighing;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.ExpertSelection.ClosedGroups;
import org.moe4j.router.GroupScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.Renormalization.EpsilonPlace;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterPrecision;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SecondExpert;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/** The library's layer that the words of a {@link LayerCase} describe, made from the types of its API. */
final class LibraryLayer {
    private static final String SUM_OF_TOP = "sum-of-top-";

    private LibraryLayer() {}

    static MoeLayer of(LayerCase c, Backend backend) {
        List<String> names = IntStream.range(0, c.router().experts())
                .mapToObj(e -> "experts." + e)
                .toList();
        MoeLayer layer = bare(c, backend, LibraryExperts.of(c.routed().kind(), c, names, backend));
        layer = c.routed().weighsInput() ? layer.withWeightPlace(WeightPlace.INPUT) : layer;
        double epsilon = c.training().noise().tokenEpsilon();
        layer = epsilon > 0 ? layer.withTokenJitter(new TokenJitter(epsilon)) : layer;
        layer = c.capacity().isPresent()
                ? layer.withCapacity(LibraryCapacity.of(c.capacity().get()))
                : layer;
        if (c.merge().convention().equals("none")) {
            return layer;
        }
        List<Experts> shared = new ArrayList<>();
        for (int i = 0; i < c.shared().widths().size(); i++) {
            shared.add(LibraryExperts.of(c.shared().kind(), c, List.of("shared." + i), backend));
        }
        return layer.withShared(new SharedBranch(shared, merge(c, backend)));
    }

    private static MoeLayer bare(LayerCase c, Backend backend, Experts experts) {
        if (c.routed().latent().isEmpty()) {
            return MoeLayer.of(router(c, backend), experts);
        }
        Matrix down = c.parameters().get("latent.down").on(backend);
        Matrix up = c.parameters().get("latent.up").on(backend);
        return MoeLayer.of(router(c, backend), experts, LatentProjections.of(down, up));
    }

    /** What the library is told of a call beside the tokens. */
    static RoutingContext context(LayerCase c) {
        Situation situation = c.training().situation();
        boolean[] valid = new boolean[c.sizes().tokens()];
        situation.valid(valid.length).forEach(t -> valid[t] = true);
        Optional<RowMask> mask = situation.padding().isEmpty() ? Optional.empty() : Optional.of(RowMask.of(valid));
        return new RoutingContext(mask, situation.lengths(), situation.noiseSeed());
    }

    /** All parameters of a case, to be put into a layer that was made elsewhere. */
    static Parameters parameters(LayerCase c, Backend backend) {
        Map<String, Matrix> matrices = new LinkedHashMap<>();
        c.parameters().forEach((name, value) -> matrices.put(name, value.on(backend)));
        return Parameters.of(matrices);
    }

    private static TopKRouter router(LayerCase c, Backend backend) {
        RouterWords words = c.router();
        RouterConfig config = config(words);
        Matrix weight = c.parameters().get("router.weight").on(backend);
        TopKRouter router = words.logitBias()
                ? TopKRouter.of(
                        config, weight, c.parameters().get("router.bias").on(backend))
                : TopKRouter.of(config, weight);
        router = LibraryNoise.on(router, c, backend)
                .withLosses(
                        c.training().losses().stream().map(LibraryLosses::of).toList());
        return words.selectionBias().isEmpty() ? router : router.withSelectionBias(bias(words));
    }

    static SelectionBias bias(RouterWords words) {
        return SelectionBias.of(
                words.selectionBias().stream().mapToDouble(value -> value).toArray());
    }

    private static RouterConfig config(RouterWords words) {
        return RouterConfig.topK(words.experts(), words.topK())
                .withScore(score(words))
                .withSelection(selection(words))
                .withSelectionBias(!words.selectionBias().isEmpty())
                .withLogitBias(words.logitBias())
                .withRenormalization(renormalization(words.weighing()))
                .withScale(words.scale())
                .withPrecision(words.precision().equals("double") ? RouterPrecision.DOUBLE : RouterPrecision.BACKEND);
    }

    private static ScoreFunction score(RouterWords words) {
        return switch (words.score()) {
            case "softmax" -> new ScoreFunction.Softmax();
            case "sigmoid" -> new ScoreFunction.Sigmoid(words.scoreEpsilon());
            case "sqrt-softplus" -> new ScoreFunction.SqrtSoftplus();
            default -> throw new IllegalArgumentException("score " + words.score());
        };
    }

    private static ExpertSelection selection(RouterWords words) {
        ChoosingWords choosing = words.choosing();
        return switch (choosing.rule()) {
            case "top-k" -> words.groups().map(LibraryLayer::groupLimited).orElse(new ExpertSelection.PlainTopK());
            case "top-two-all" -> new ExpertSelection.TopTwo(new SecondExpert.All());
            case "top-two-random" -> new ExpertSelection.TopTwo(new SecondExpert.Random(choosing.number()));
            case "top-two-sampled" -> new ExpertSelection.TopTwo(new SecondExpert.Sampled());
            case "sinkhorn" -> new ExpertSelection.Sinkhorn(choosing.number(), 1000);
            case "expert-choice" -> {
                CapacityWords rows = choosing.rows().orElseThrow();
                yield new ExpertSelection.ExpertChoice(
                        LibraryCapacity.rows(rows.rows()), LibraryCapacity.scope(rows.scope()));
            }
            default -> throw new IllegalArgumentException("choosing " + choosing);
        };
    }

    private static ExpertSelection groupLimited(Groups groups) {
        GroupScore score;
        if (groups.score().startsWith(SUM_OF_TOP)) {
            score = new GroupScore.SumOfBest(Integer.parseInt(groups.score().substring(SUM_OF_TOP.length())));
        } else {
            score = groups.score().equals("max") ? new GroupScore.Max() : new GroupScore.TopKPerKeptGroup();
        }
        ClosedGroups fill = groups.fill().equals("zero") ? ClosedGroups.ZERO : ClosedGroups.MINUS_INFINITY;
        return new ExpertSelection.GroupLimited(groups.count(), groups.kept(), score, fill);
    }

    private static Renormalization renormalization(Weighing weighing) {
        return switch (weighing.renormalization()) {
            case "none" -> new Renormalization.None();
            case "sum" -> new Renormalization.Sum(weighing.epsilon(), place(weighing.place()));
            case "norm" -> new Renormalization.Norm(weighing.p());
            case "softmax-of-selected" -> new Renormalization.SoftmaxOfSelected();
            default -> throw new IllegalArgumentException("renormalization " + weighing.renormalization());
        };
    }

    private static EpsilonPlace place(String word) {
        return switch (word) {
            case "in-sum" -> EpsilonPlace.IN_SUM;
            case "per-score" -> EpsilonPlace.PER_SCORE;
            case "floor" -> EpsilonPlace.FLOOR;
            default -> throw new IllegalArgumentException("place " + word);
        };
    }

    private static OutputMerge merge(LayerCase c, Backend backend) {
        ActiveWidths widths = new ActiveWidths(
                c.router().topK(), c.sizes().width(), c.shared().width());
        return switch (c.merge().convention()) {
            case "olmo" -> ScaledMerge.olmo(widths);
            case "routed-unit-sum" -> ScaledMerge.routedUnitSum(widths);
            case "equal-branch-mass" -> ScaledMerge.equalBranchMass(widths);
            case "width-proportional" -> ScaledMerge.widthProportional(widths);
            case "sum" -> ScaledMerge.sum();
            case "scaled" ->
                ScaledMerge.scaled(c.merge().routedScale(), c.merge().sharedScale());
            case "active-mean" -> ScaledMerge.activeMean(c.router().topK());
            case "sigmoid-gated" -> gated(c, backend, SharedScore.SIGMOID);
            case "shared-router" ->
                gated(
                        c,
                        backend,
                        c.merge().score().equals("softmax") ? SharedScore.SOFTMAX : SharedScore.NORMALIZED_SIGMOID);
            default -> throw new IllegalArgumentException("merge " + c.merge());
        };
    }

    private static GatedMerge gated(LayerCase c, Backend backend, SharedScore score) {
        return new GatedMerge(c.parameters().get("merge.gate").on(backend), score);
    }
}
