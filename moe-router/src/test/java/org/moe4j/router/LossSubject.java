package org.moe4j.router;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.LogitGradients;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** A loss of the library and its definition for the same coefficient. */
record LossSubject(RouterLoss loss, ToDoubleFunction<List<LossLayer>> definition) {
    static final double COEFFICIENT = 0.25;

    static Stream<LossSubject> all() {
        double c = COEFFICIENT;
        return Stream.of(
                each(LoadBalancingLoss.switchTransformer(c), LossDefinitions::switchTransformer),
                each(LoadBalancingLoss.meshTensorFlow(c), LossDefinitions::meshTensorFlow),
                each(LoadBalancingLoss.lingvo(c), LossDefinitions::lingvo),
                each(LoadBalancingLoss.flaxformer(c), LossDefinitions::flaxformer),
                together(LoadBalancingLoss.transformers(c), LossDefinitions::transformers),
                each(LoadBalancingLoss.megatron(c), LossDefinitions::megatron),
                each(LoadBalancingLoss.megatronSequence(c), LossDefinitions::megatronSequence),
                each(LoadBalancingLoss.olmoCore(c), LossDefinitions::olmoCore),
                each(
                        LoadBalancingLoss.olmoCore(c).withDivisor(5),
                        layer -> LossDefinitions.olmoCore(layer) * layer.rows().length / 5),
                each(LoadBalancingLoss.olmoCoreInstance(c), LossDefinitions::olmoCoreInstance),
                together(LoadBalancingLoss.megaBlocks(c), LossDefinitions::megaBlocks),
                each(LoadBalancingLoss.deepSeekBatch(c), LossDefinitions::deepSeekBatch),
                each(LoadBalancingLoss.deepSeekSequence(c), LossDefinitions::deepSeekSequence),
                each(LoadBalancingLoss.deepSeekV3(c), LossDefinitions::deepSeekV3),
                each(new ZLoss(c), LossDefinitions::zLoss),
                each(
                        new ZLoss(c, OptionalDouble.of(5)),
                        layer -> LossDefinitions.zLoss(layer) * layer.rows().length / 5),
                each(VariationLoss.shazeerImportance(c), LossDefinitions::shazeerImportance),
                each(VariationLoss.vMoeImportance(c), LossDefinitions::vMoeImportance),
                each(VariationLoss.shazeerLoad(c), LossDefinitions::shazeerLoad),
                each(VariationLoss.vMoeLoad(c), LossDefinitions::vMoeLoad));
    }

    /** The sum over layers. */
    private static LossSubject each(RouterLoss loss, ToDoubleFunction<LossLayer> definition) {
        return together(loss, layers -> layers.stream().mapToDouble(definition).sum());
    }

    private static LossSubject together(RouterLoss loss, ToDoubleFunction<List<LossLayer>> definition) {
        return new LossSubject(loss, layers -> COEFFICIENT * definition.applyAsDouble(layers));
    }

    double value(List<LossLayer> layers) {
        return loss.value(passes(layers));
    }

    static List<TopKPass> passes(List<LossLayer> layers) {
        return layers.stream().map(LossLayer::pass).toList();
    }

    /** Gradients of the logits of all layers, one layer after the other. */
    static double[] gradients(RouterLoss loss, List<LossLayer> layers) {
        List<TopKPass> passes = passes(layers);
        List<LogitGradients> into = new ArrayList<>();
        passes.forEach(pass -> into.add(LogitGradients.zeros(pass)));
        loss.addGradients(passes, into);
        return into.stream().flatMapToDouble(d -> Arrays.stream(d.logits())).toArray();
    }

    /** The layers with logits that stand one layer after the other. */
    static List<LossLayer> at(List<LossLayer> layers, double[] logits) {
        List<LossLayer> moved = new ArrayList<>();
        int from = 0;
        for (LossLayer layer : layers) {
            int to = from + layer.logits.length * layer.experts();
            moved.add(layer.withLogits(Arrays.copyOfRange(logits, from, to)));
            from = to;
        }
        return moved;
    }

    @Override
    public String toString() {
        return loss.toString();
    }
}
