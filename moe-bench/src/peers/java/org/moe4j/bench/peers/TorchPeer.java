package org.moe4j.bench.peers;

import ai.djl.engine.Engine;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** PyTorch through DJL: the loop over experts as it is written in Python, as TorchScript. */
public final class TorchPeer implements Peer {
    private static final String ENGINE = "PyTorch";

    /** For the service loader. */
    public TorchPeer() {
        Map<String, String> settings = new TreeMap<>();
        settings.put("OPT_OUT_TRACKING", "true"); // DJL reports its use otherwise
        settings.put("ai.djl.offline", "true");
        settings.put("DJL_CACHE_DIR", Path.of(System.getProperty("moe.home", ""), "moe-bench/target/peers/djl").toString());
        settings.put("ai.djl.pytorch.num_interop_threads", "1");
        settings.put("ai.djl.pytorch.graph_optimizer", "false"); // the same speed forward, and 10 to 30 % faster with a backward
        settings.forEach((key, value) -> System.setProperty(key, System.getProperty(key, value)));
    }

    @Override
    public String name() {
        return "pytorch";
    }

    @Override
    public String library() {
        return "PyTorch " + Engine.getEngine(ENGINE).getVersion() + " (DJL " + Engine.getDjlVersion() + ")";
    }

    @Override
    public Contender open(SampleLayer layer, Pass pass, int threads) throws Exception {
        System.setProperty("ai.djl.pytorch.num_threads", Integer.toString(threads));
        return new TorchLayer(layer, pass);
    }
}
