package org.moe4j.bench.peers;

import java.util.LinkedHashMap;
import java.util.Map;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** Forward and backward of our layer, the gradients of all parameters added into buffers. */
final class Trained implements Contender.Calls {
    private final MoeLayer layer;
    private final Matrix tokens;
    private final Matrix dOutput;
    private final Parameters buffers;
    private Matrix output;
    private Matrix dTokens;

    Trained(MoeLayer layer, Matrix tokens, Matrix dOutput) {
        this.layer = layer;
        this.tokens = tokens;
        this.dOutput = dOutput;
        buffers = buffers(layer);
        output = tokens.share();
        dTokens = tokens.share();
    }

    private static Parameters buffers(MoeLayer layer) {
        Map<String, Matrix> made = new LinkedHashMap<>();
        try (Parameters parameters = layer.parameters()) {
            for (String name : parameters.names()) {
                Matrix weight = parameters.get(name);
                made.put(name, weight.backend().buffer(weight.rows(), weight.columns()));
            }
        }
        return Parameters.of(made);
    }

    @Override
    public void call() {
        closeResults();
        try (MoePass pass = layer.forward(tokens)) {
            output = pass.output();
            Gradients gradients = pass.backward(dOutput, buffers.names(), buffers);
            dTokens = gradients.input();
            gradients.parameters().close(); // handles on the buffers
        }
    }

    @Override
    public float[] result() {
        return OwnLayer.values(output);
    }

    @Override
    public Map<Contender.Gradient, float[]> gradients(int expert) {
        String prefix = "experts." + expert + ".";
        return Map.of(
                Contender.Gradient.TOKENS, OwnLayer.values(dTokens),
                Contender.Gradient.ROUTER, OwnLayer.values(buffers.get("router.weight")),
                Contender.Gradient.GATE, OwnLayer.values(buffers.get(prefix + "gate")),
                Contender.Gradient.UP, OwnLayer.values(buffers.get(prefix + "up")),
                Contender.Gradient.DOWN, OwnLayer.values(buffers.get(prefix + "down")));
    }

    private void closeResults() {
        output.close();
        dTokens.close();
    }

    @Override
    public void close() {
        closeResults();
        buffers.close();
        dOutput.close();
        tokens.close();
    }
}
