package org.moe4j.checkpoint.trace;

import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.router.analysis.LogitSource;

/** Router logits as the numbers of a tensor [T, E]; for one thread at a time. */
final class LogitNumbers implements Numbers {
    private final LogitSource source;
    private double[] room = new double[0];

    LogitNumbers(LogitSource source) {
        this.source = source;
    }

    @Override
    public void read(long from, double[] into, int at, int count) {
        int experts = source.experts();
        long token = from / experts;
        int tokens = (int) ((from + count + experts - 1) / experts - token);
        if (room.length < tokens * experts) {
            room = new double[tokens * experts];
        }
        source.read(token, tokens, room);
        System.arraycopy(room, (int) (from % experts), into, at, count);
    }
}
