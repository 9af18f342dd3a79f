package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.parameter.Parameters;

/** The library's bank of experts that some words describe, with the numbers of a case. */
final class LibraryExperts {
    private LibraryExperts() {}

    static Experts of(ExpertWords words, LayerCase c, List<String> names, Backend backend) {
        if (words.equals(ExpertWords.SWIGLU)) {
            return SwiGluExperts.of(names.stream()
                    .map(name -> new SwiGluWeights(
                            c.parameters().get(name + ".gate").on(backend),
                            c.parameters().get(name + ".up").on(backend),
                            c.parameters().get(name + ".down").on(backend)))
                    .toList());
        }
        List<Parameters> experts = new ArrayList<>();
        for (String name : names) {
            Map<String, Matrix> own = new LinkedHashMap<>();
            c.parameters().forEach((parameter, value) -> {
                if (parameter.startsWith(name + ".")) {
                    own.put(parameter.substring(name.length() + 1), value.on(backend));
                }
            });
            experts.add(Parameters.of(own));
        }
        return FeedForwardExperts.of(activation(words), experts);
    }

    private static Activation activation(ExpertWords words) {
        return switch (words.activation()) {
            case "swiglu" -> new Activation.SwiGlu();
            case "clamped-swiglu" -> new Activation.ClampedSwiGlu(words.alpha(), words.limit(), words.offset());
            case "silu" -> new Activation.Silu();
            case "relu" -> new Activation.Relu();
            case "relu-squared" -> new Activation.ReluSquared();
            case "gelu-exact" -> new Activation.GeluExact();
            case "gelu-tanh" -> new Activation.GeluTanh();
            default -> throw new IllegalArgumentException("activation " + words);
        };
    }
}
