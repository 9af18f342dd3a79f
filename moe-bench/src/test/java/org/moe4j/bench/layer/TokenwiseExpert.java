package org.moe4j.bench.layer;

import java.util.Map;
import org.moe4j.bench.layer.LayerCase.Numbers;

/** What the words of an expert mean for one token, by loops on arrays: no code of the library is used. */
final class TokenwiseExpert {
    private final ExpertWords words;
    private final Map<String, Numbers> parameters;
    private final String name;

    private TokenwiseExpert(ExpertWords words, Map<String, Numbers> parameters, String name) {
        this.words = words;
        this.parameters = parameters;
        this.name = name;
    }

    /** The expert whose parameters have names that begin with {@code name}. */
    static TokenwiseExpert of(ExpertWords words, Map<String, Numbers> parameters, String name) {
        return new TokenwiseExpert(words, parameters, name);
    }

    /** One token through the expert. */
    double[] output(double[] x) {
        double[] up = product("up", x);
        double[] gate = words.gated() ? product("gate", x) : up;
        double[] hidden = new double[up.length];
        for (int f = 0; f < hidden.length; f++) {
            hidden[f] = words.gated() ? gated(gate[f], up[f]) : activated(up[f]);
        }
        return product("down", hidden);
    }

    /** The smallest distance of any number of the token to where the activation has a kink. */
    double gap(double[] x) {
        double gap = Double.POSITIVE_INFINITY;
        if (words.activation().startsWith("relu")) {
            for (double up : product("up", x)) {
                gap = Math.min(gap, Math.abs(up));
            }
        }
        if (words.activation().equals("clamped-swiglu")) {
            double[] gate = product("gate", x);
            double[] up = product("up", x);
            for (int f = 0; f < up.length; f++) {
                gap = Math.min(gap, Math.abs(gate[f] - words.limit()));
                gap = Math.min(gap, Math.abs(Math.abs(up[f]) - words.limit()));
            }
        }
        return gap;
    }

    /** Whether some number of the token is beyond a kink: negative before a ReLU, or clamped. */
    boolean beyondKink(double[] x) {
        boolean beyond = false;
        double[] up = product("up", x);
        double[] gate = words.gated() ? product("gate", x) : up;
        for (int f = 0; f < up.length; f++) {
            beyond |= words.activation().startsWith("relu") && up[f] < 0;
            beyond |= words.gated() && (gate[f] > words.limit() || Math.abs(up[f]) > words.limit());
        }
        return beyond;
    }

    private double gated(double gate, double up) {
        if (words.activation().equals("swiglu")) {
            return gate * sigmoid(gate) * up;
        }
        double below = Math.min(gate, words.limit());
        double within = Math.max(-words.limit(), Math.min(up, words.limit()));
        return below * sigmoid(words.alpha() * below) * (within + words.offset());
    }

    private double activated(double up) {
        return switch (words.activation()) {
            case "silu" -> up * sigmoid(up);
            case "relu" -> Math.max(0, up);
            case "relu-squared" -> Math.max(0, up) * Math.max(0, up);
            case "gelu-exact" -> up * Plain.normal(up);
            case "gelu-tanh" -> {
                double inner = Math.sqrt(2 / Math.PI) * (up + 0.044715 * up * up * up);
                yield up * (1 + StrictMath.tanh(inner)) / 2;
            }
            default -> throw new IllegalArgumentException("activation " + words.activation());
        };
    }

    private double[] product(String matrix, double[] x) {
        double[] products = Plain.products(parameters.get(name + "." + matrix), x);
        for (int i = 0; words.biases() && i < products.length; i++) {
            products[i] += parameters.get(name + "." + matrix + "Bias").values()[i];
        }
        return products;
    }

    private static double sigmoid(double z) {
        return 1 / (1 + StrictMath.exp(-z));
    }
}
