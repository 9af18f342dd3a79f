package org.moe4j.bench.layer;

import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** The library's loss that some words describe. */
final class LibraryLosses {
    private LibraryLosses() {}

    static RouterLoss of(LossWords words) {
        double c = words.coefficient();
        return switch (words.formula()) {
            case "switch" -> LoadBalancingLoss.switchTransformer(c);
            case "flaxformer" -> LoadBalancingLoss.flaxformer(c);
            case "transformers" -> LoadBalancingLoss.transformers(c);
            case "megatron" -> LoadBalancingLoss.megatron(c);
            case "megatron-sequence" -> LoadBalancingLoss.megatronSequence(c);
            case "olmo-core" -> LoadBalancingLoss.olmoCore(c);
            case "olmo-core-instance" -> LoadBalancingLoss.olmoCoreInstance(c);
            case "megablocks" -> LoadBalancingLoss.megaBlocks(c);
            case "deepseek-batch" -> LoadBalancingLoss.deepSeekBatch(c);
            case "deepseek-sequence" -> LoadBalancingLoss.deepSeekSequence(c);
            case "deepseek-v3" -> LoadBalancingLoss.deepSeekV3(c);
            case "z-loss" -> new ZLoss(c);
            case "shazeer-importance" -> VariationLoss.shazeerImportance(c);
            case "shazeer-load" -> VariationLoss.shazeerLoad(c);
            case "vmoe-importance" -> VariationLoss.vMoeImportance(c);
            case "vmoe-load" -> VariationLoss.vMoeLoad(c);
            default -> throw new IllegalArgumentException("loss " + words);
        };
    }
}
