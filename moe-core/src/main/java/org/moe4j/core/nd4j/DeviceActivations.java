package org.moe4j.core.nd4j;

import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.impl.transforms.strict.Erfc;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.BooleanIndexing;
import org.nd4j.linalg.indexing.conditions.Conditions;
import org.nd4j.linalg.ops.transforms.Transforms;

/**
 * Activations as ND4J operations. Each method returns a fresh array; intermediate ones end with the scope. Values
 * are cut by replacing them where a comparison says so, so that NaN spreads as in the definition; gradients are multiplied in an order
 * in which nothing overflows that a later factor would have made small.
 */
final class DeviceActivations {
    private static final double TWICE_ROOT = 2 * Math.sqrt(2 / Math.PI);
    private static final double CUBIC = 0.044715;
    private static final double SATURATED = 40; // σ(2z) is exactly 0 or 1 beyond, and u³ must not overflow

    private final DeviceScope scope;

    DeviceActivations(DeviceScope scope) {
        this.scope = scope;
    }

    INDArray value(Activation activation, Projections projections) {
        INDArray u = scope.array(projections.up());
        return activation instanceof Activation.Gated gated
                ? value(gated, scope.array(projections.gateOrThrow()), u)
                : value((Activation.Plain) activation, u);
    }

    INDArray upGradient(Activation activation, Projections projections, Matrix dHidden) {
        INDArray u = scope.array(projections.up());
        INDArray d = scope.array(dHidden);
        return activation instanceof Activation.Gated gated
                ? upGradient(gated, scope.array(projections.gateOrThrow()), u, d)
                : gradient((Activation.Plain) activation, u, d);
    }

    INDArray gateGradient(Activation activation, Projections projections, Matrix dHidden) {
        return gateGradient(
                (Activation.Gated) activation,
                scope.array(projections.gateOrThrow()),
                scope.array(projections.up()),
                scope.array(dHidden));
    }

    private INDArray value(Activation.Gated activation, INDArray g, INDArray u) {
        if (activation instanceof ClampedSwiGlu clamped) {
            INDArray gate = scope.temporary(atMost(g, clamped.limit()));
            INDArray up = scope.temporary(clip(u, clamped.limit())).addi(clamped.offset());
            return Transforms.sigmoid(gate.mul(clamped.alpha()), false)
                    .muli(above(gate))
                    .muli(up);
        }
        return Transforms.sigmoid(g, true).muli(above(g)).muli(u);
    }

    /** {@code d · dh/dg}. */
    private INDArray gateGradient(Activation.Gated activation, INDArray g, INDArray u, INDArray d) {
        if (activation instanceof ClampedSwiGlu clamped) {
            INDArray gate = scope.temporary(atMost(g, clamped.limit()));
            INDArray up = scope.temporary(clip(u, clamped.limit())).addi(clamped.offset());
            INDArray dGate = slope(gate, clamped.alpha()).muli(d).muli(up);
            return zeroWhere(dGate, g.gt(clamped.limit()));
        }
        return slope(g, 1).muli(d).muli(u);
    }

    /** {@code d · dh/du}. */
    private INDArray upGradient(Activation.Gated activation, INDArray g, INDArray u, INDArray d) {
        if (activation instanceof ClampedSwiGlu clamped) {
            INDArray gate = scope.temporary(atMost(g, clamped.limit()));
            INDArray dUp = Transforms.sigmoid(gate.mul(clamped.alpha()), false)
                    .muli(above(gate))
                    .muli(d);
            zeroWhere(dUp, u.gt(clamped.limit()));
            return zeroWhere(dUp, u.lt(-clamped.limit()));
        }
        return Transforms.sigmoid(g, true).muli(above(g)).muli(d);
    }

    private INDArray value(Activation.Plain activation, INDArray u) {
        if (activation instanceof Relu) {
            return atLeast(u, 0);
        }
        if (activation instanceof ReluSquared) {
            INDArray positive = scope.temporary(atLeast(u, 0));
            return positive.mul(positive);
        }
        if (activation instanceof GeluExact) {
            return cdf(u).muli(above(u));
        }
        return logistic(activation, u).muli(above(u));
    }

    /** {@code d · dh/du}. */
    private INDArray gradient(Activation.Plain activation, INDArray u, INDArray d) {
        if (activation instanceof Relu) {
            return zeroWhere(d.dup('c'), u.lte(0));
        }
        if (activation instanceof ReluSquared) {
            return atLeast(u, 0).muli(d).muli(2);
        }
        if (activation instanceof GeluExact) {
            INDArray density = scope.temporary(u.mul(u)).muli(-0.5);
            Transforms.exp(density, false).muli(1 / Math.sqrt(2 * Math.PI)).muli(finite(u));
            return cdf(u).addi(density).muli(d);
        }
        if (activation instanceof GeluTanh) {
            INDArray s = scope.temporary(logistic(activation, u));
            INDArray near = scope.temporary(clip(u, SATURATED));
            INDArray slope = near.mul(near).muli(3 * CUBIC).addi(1).muli(TWICE_ROOT);
            return slope.muli(near)
                    .muli(scope.temporary(s.rsub(1)))
                    .addi(1)
                    .muli(s)
                    .muli(d);
        }
        return slope(u, 1).muli(d);
    }

    /**
     * {@code σ + σ · (1 − σ) · x · alpha} with {@code σ = σ(alpha · x)}: multiplied in this order nothing overflows, even where
     * {@code alpha · x} does.
     */
    private INDArray slope(INDArray x, double alpha) {
        INDArray s = scope.temporary(Transforms.sigmoid(x.mul(alpha), false));
        return s.rsub(1).muli(s).muli(finite(x)).muli(alpha).addi(s);
    }

    /** σ(u), or for the tanh form σ(2z). */
    private INDArray logistic(Activation.Plain activation, INDArray u) {
        if (!(activation instanceof GeluTanh)) {
            return Transforms.sigmoid(u, true);
        }
        INDArray near = scope.temporary(clip(u, SATURATED));
        INDArray z = near.mul(near).muli(CUBIC).addi(1).muli(near).muli(TWICE_ROOT);
        return Transforms.sigmoid(z, false);
    }

    /** {@code Φ(u) = ½ · erfc(−u / √2)}. */
    private INDArray cdf(INDArray u) {
        INDArray turned = u.mul(-1 / Math.sqrt(2));
        return Nd4j.exec(new Erfc(turned, turned)).muli(0.5);
    }

    /** The numbers, minus infinity being the least finite one: times an exact 0 it would be NaN, not the limit. */
    private INDArray above(INDArray x) {
        return scope.temporary(atLeast(x, -largest(x)));
    }

    private INDArray finite(INDArray x) {
        return scope.temporary(clip(x, largest(x)));
    }

    private static double largest(INDArray x) {
        return x.dataType() == DataType.FLOAT ? Float.MAX_VALUE : Double.MAX_VALUE;
    }

    private static INDArray atMost(INDArray x, double limit) {
        INDArray y = x.dup('c');
        BooleanIndexing.replaceWhere(y, limit, Conditions.greaterThan(limit));
        return y;
    }

    private static INDArray atLeast(INDArray x, double limit) {
        INDArray y = x.dup('c');
        BooleanIndexing.replaceWhere(y, limit, Conditions.lessThan(limit));
        return y;
    }

    private INDArray clip(INDArray x, double limit) {
        return atLeast(scope.temporary(atMost(x, limit)), -limit);
    }

    /** {@code a = 0} where the condition holds. */
    private INDArray zeroWhere(INDArray a, INDArray condition) {
        INDArray cut = scope.temporary(scope.temporary(condition).castTo(a.dataType()));
        return a.muli(cut.rsubi(1));
    }
}
