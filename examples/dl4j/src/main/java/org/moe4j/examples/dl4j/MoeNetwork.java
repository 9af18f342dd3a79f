package org.moe4j.examples.dl4j;

import java.io.File;
import java.io.IOException;
import org.deeplearning4j.gradientcheck.GradientCheckUtil;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.learning.config.IUpdater;
import org.nd4j.linalg.learning.config.NoOp;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** A DL4J network with an MoE layer in the middle: DL4J's own gradient check, training by its Adam, saving and reading back. */
public final class MoeNetwork {
    private MoeNetwork() {}

    private static MultiLayerNetwork network(DataType type, IUpdater updater) {
        MultiLayerConfiguration conf = new NeuralNetConfiguration.Builder()
                .seed(12)
                .dataType(type)
                .updater(updater)
                .list()
                .layer(new DenseLayer.Builder().nIn(2).nOut(6).activation(Activation.TANH).build())
                .layer(new MoeFeedForward.Builder()
                        .experts(3)
                        .topK(2)
                        .width(4)
                        .nIn(6)
                        .nOut(6)
                        .build())
                .layer(new OutputLayer.Builder(LossFunction.MCXENT)
                        .nIn(6)
                        .nOut(2)
                        .activation(Activation.SOFTMAX)
                        .build())
                .build();
        MultiLayerNetwork network = new MultiLayerNetwork(conf);
        network.init();
        return network;
    }

    private static void require(boolean right, String what) {
        if (!right) {
            throw new IllegalStateException(what);
        }
    }

    public static void main(String[] args) throws IOException {
        gradientsAreThoseOfDifferences();
        INDArray points = Nd4j.rand(DataType.FLOAT, 256, 2).muli(2).subi(1);
        INDArray labels = Nd4j.zeros(DataType.FLOAT, 256, 2); // the signs of both numbers alike, or not
        for (int i = 0; i < 256; i++) {
            labels.putScalar(i, points.getDouble(i, 0) * points.getDouble(i, 1) > 0 ? 1 : 0, 1);
        }
        MultiLayerNetwork network = network(DataType.FLOAT, new Adam(0.01));
        network.fit(points, labels);
        double before = network.score();
        for (int epoch = 0; epoch < 150; epoch++) {
            network.fit(points, labels);
        }
        System.out.println("loss " + before + " -> " + network.score());
        require(network.score() < before / 4, "the network has not learned");

        File file = File.createTempFile("moe", ".zip");
        network.save(file);
        MultiLayerNetwork read = MultiLayerNetwork.load(file, true);
        boolean same = read.output(points).equals(network.output(points));
        System.out.println("read back, same output: " + same);
        require(same && file.delete(), "what was saved is another network");
    }

    /** DL4J's check: central differences of the loss for every parameter, in double. */
    private static void gradientsAreThoseOfDifferences() {
        Nd4j.setDefaultDataTypes(DataType.DOUBLE, DataType.DOUBLE); // the check insists
        MultiLayerNetwork network = network(DataType.DOUBLE, new NoOp());
        INDArray points = Nd4j.rand(DataType.DOUBLE, 12, 2).subi(0.5);
        INDArray labels = Nd4j.zeros(DataType.DOUBLE, 12, 2);
        for (int i = 0; i < 12; i++) {
            labels.putScalar(i, i % 2, 1);
        }
        boolean passed = GradientCheckUtil.checkGradients(new GradientCheckUtil.MLNConfig()
                .net(network)
                .epsilon(1e-6)
                .maxRelError(1e-5)
                .minAbsoluteError(1e-9)
                .print(GradientCheckUtil.PrintMode.FAILURES_ONLY)
                .input(points)
                .labels(labels));
        System.out.println("gradients of " + network.numParams() + " parameters: " + (passed ? "right" : "wrong"));
        require(passed, "gradients");
        Nd4j.setDefaultDataTypes(DataType.FLOAT, DataType.FLOAT);
    }
}
