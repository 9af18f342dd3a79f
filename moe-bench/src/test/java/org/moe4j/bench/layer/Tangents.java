package org.moe4j.bench.layer;

import java.util.Map;
import org.moe4j.bench.layer.LayerCase.Numbers;

/**
 * The derivative of a layer in a direction, by the rules of the derivative of sum, product and quotient, one token after another: SwiGLU
 * experts, softmax over all experts, the selected scores as they are, one shared expert, fixed merge factors; and of two losses.
 */
final class Tangents {
    private final Map<String, Numbers> values;
    private final Map<String, Numbers> directions;
    private final int[][] selected;

    /** A number with its derivative. */
    private record Dual(double value, double slope) {
        Dual plus(Dual other) {
            return new Dual(value + other.value, slope + other.slope);
        }

        Dual times(Dual other) {
            return new Dual(value * other.value, slope * other.value + value * other.slope);
        }

        Dual over(Dual other) {
            double quotient = value / other.value;
            return new Dual(quotient, (slope - quotient * other.slope) / other.value);
        }

        Dual exp() {
            double power = StrictMath.exp(value);
            return new Dual(power, power * slope);
        }
    }

    private static final Dual ONE = new Dual(1, 0);

    Tangents(Map<String, Numbers> values, Map<String, Numbers> directions, int[][] selected) {
        this.values = values;
        this.directions = directions;
        this.selected = selected;
    }

    private Dual[] token(int token) {
        int columns = values.get("tokens").columns();
        Dual[] x = new Dual[columns];
        for (int i = 0; i < columns; i++) {
            x[i] = at("tokens", token * columns + i);
        }
        return x;
    }

    private Dual at(String name, int index) {
        return new Dual(values.get(name).values()[index], directions.get(name).values()[index]);
    }

    private Dual[] product(String name, Dual[] x) {
        double[] w = values.get(name).values();
        double[] dw = directions.get(name).values();
        Dual[] products = new Dual[values.get(name).rows()];
        for (int row = 0; row < products.length; row++) {
            double value = 0;
            double slope = 0;
            for (int i = 0; i < x.length; i++) {
                int at = row * x.length + i;
                value += w[at] * x[i].value();
                slope += dw[at] * x[i].value() + w[at] * x[i].slope();
            }
            products[row] = new Dual(value, slope);
        }
        return products;
    }

    private Dual[] expert(String name, Dual[] x) {
        Dual[] gate = product(name + ".gate", x);
        Dual[] up = product(name + ".up", x);
        Dual[] hidden = new Dual[gate.length];
        for (int f = 0; f < hidden.length; f++) {
            Dual negated = new Dual(-gate[f].value(), -gate[f].slope());
            hidden[f] = gate[f].over(ONE.plus(negated.exp())).times(up[f]);
        }
        return product(name + ".down", hidden);
    }

    private Dual[] scores(int token) {
        Dual[] powers = product("router.weight", token(token));
        Dual sum = new Dual(0, 0);
        for (int e = 0; e < powers.length; e++) {
            powers[e] = powers[e].exp();
            sum = sum.plus(powers[e]);
        }
        for (int e = 0; e < powers.length; e++) {
            powers[e] = powers[e].over(sum);
        }
        return powers;
    }

    /** Ju, T·D numbers. */
    double[] output(double routedFactor, double sharedFactor) {
        int columns = values.get("tokens").columns();
        double[] slopes = new double[selected.length * columns];
        for (int t = 0; t < selected.length; t++) {
            Dual[] x = token(t);
            Dual[] scores = scores(t);
            for (int expert : selected[t]) {
                add(
                        slopes,
                        t * columns,
                        scores[expert].times(new Dual(routedFactor, 0)),
                        expert("experts." + expert, x));
            }
            add(slopes, t * columns, new Dual(sharedFactor, 0), expert("shared.0", x));
        }
        return slopes;
    }

    private static void add(double[] slopes, int at, Dual factor, Dual[] y) {
        for (int i = 0; i < y.length; i++) {
            slopes[at + i] += factor.times(y[i]).slope();
        }
    }

    /** Derivative of {@code E · Σ_e f_e · P_e}, f the share of tokens whose first choice is e, P the mean of its scores. */
    double balance() {
        int experts = values.get("router.weight").rows();
        double tokens = selected.length;
        double[] first = new double[experts];
        for (int[] choice : selected) {
            first[choice[0]] += 1 / tokens;
        }
        double slope = 0;
        for (int t = 0; t < tokens; t++) {
            Dual[] scores = scores(t);
            for (int e = 0; e < experts; e++) {
                slope += experts * first[e] * scores[e].slope() / tokens;
            }
        }
        return slope;
    }

    /** Derivative of the mean of {@code (ln Σ_e e^l_e)²}. */
    double zLoss() {
        double slope = 0;
        for (int t = 0; t < selected.length; t++) {
            Dual sum = new Dual(0, 0);
            for (Dual logit : product("router.weight", token(t))) {
                sum = sum.plus(logit.exp());
            }
            slope += 2 * StrictMath.log(sum.value()) * sum.slope() / sum.value() / selected.length;
        }
        return slope;
    }
}
