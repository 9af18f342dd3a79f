package org.moe4j.router.analysis.device;

import java.util.Optional;
import java.util.function.LongToIntFunction;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingObserver;

/**
 * What expert parallelism sends between devices: tokens to their experts (dispatch), and the outputs back (combine), as much each way.
 * Bytes are counted, no time is: that also depends on the network.
 */
public final class DeviceTraffic implements RoutingObserver {
    private final int devices;
    private final int[] deviceOf;
    private final Optional<LongToIntFunction> home;
    private final long[] lastToken; // of a device, from 1
    private long tokens;
    private long assignments;
    private long visits;

    private DeviceTraffic(DevicePlacement placement, Optional<LongToIntFunction> home) {
        devices = placement.devices();
        deviceOf = placement.deviceOfExperts();
        this.home = home;
        lastToken = new long[devices];
    }

    /**
     * Nobody knows on which device a token stands: every device is counted as another one, which is the most that can travel.
     *
     * @param placement of the experts
     * @return nothing counted yet
     */
    public static DeviceTraffic toAnyDevice(DevicePlacement placement) {
        return new DeviceTraffic(placement, Optional.empty());
    }

    /**
     * What stays on the token's own device is not counted.
     *
     * @param placement of the experts
     * @param home device of a token, 0..N−1, by its number from 0, as {@code t -> (int) (t % devices)}
     * @return nothing counted yet
     */
    public static DeviceTraffic toOtherDevices(DevicePlacement placement, LongToIntFunction home) {
        return new DeviceTraffic(placement, Optional.of(home));
    }

    @Override
    public void add(ChosenExperts block) {
        Require.count("block", block.experts(), deviceOf.length, "experts (of the placement)");
        for (int t = 0; t < block.tokens(); t++) {
            int own = home.isEmpty() ? -1 : own(tokens + t);
            long mark = tokens + t + 1;
            for (int slot = block.start(t), end = block.end(t); slot < end; slot++) {
                int device = deviceOf[block.expert(slot)];
                if (device != own) {
                    assignments++;
                    if (lastToken[device] != mark) {
                        lastToken[device] = mark;
                        visits++;
                    }
                }
            }
        }
        tokens += block.tokens();
    }

    private int own(long token) {
        return Require.inRange("home", home.orElseThrow().applyAsInt(token), 0, devices - 1, "devices");
    }

    /**
     * What was counted so far.
     *
     * @return later tokens do not change it
     */
    public Result result() {
        return new Result(devices, tokens, assignments, visits);
    }

    /** How often a token with several experts on one device travels there. */
    public enum Sending {
        /** Once for each of its experts there, and each output back. */
        PER_ASSIGNMENT,
        /** Once; the device sends back one vector, the weighted sum of its experts' outputs. */
        PER_DEVICE
    }

    /**
     * Counts of what travels.
     *
     * @param devices N
     * @param tokens T
     * @param assignments that are away from their token
     * @param visits pairs of a token and a device away from it that has one of its experts
     */
    public record Result(int devices, long tokens, long assignments, long visits) {
        /**
         * Bytes that all devices together send in one direction, dispatch or combine.
         *
         * @param sending once for each expert or for each device
         * @param hiddenSize D, numbers of a token
         * @param bytesPerNumber as 2 for bfloat16; combine may have others than dispatch
         * @return vectors times their bytes
         */
        public double bytesEachWay(Sending sending, int hiddenSize, double bytesPerNumber) {
            long vectors = sending == Sending.PER_ASSIGNMENT ? assignments : visits;
            return vectors * bytesPerToken(hiddenSize, bytesPerNumber);
        }

        /**
         * Bytes that all devices together send if the layer is cut by tensor parallelism instead, whatever the routing: one all-reduce of
         * the output, for which a ring of N devices sends {@code 2·(N − 1)/N · T·D·b} bytes from each (P. Patarasuk and X. Yuan, Bandwidth
         * optimal all-reduce algorithms for clusters of workstations, 2009; the factor is that of NVIDIA's nccl-tests, PERFORMANCE.md).
         *
         * @param hiddenSize D, numbers of a token
         * @param bytesPerNumber b
         * @return {@code 2·(N − 1)·T·D·b}
         */
        public double allReduceBytes(int hiddenSize, double bytesPerNumber) {
            return 2.0 * (devices - 1) * tokens * bytesPerToken(hiddenSize, bytesPerNumber);
        }

        private static double bytesPerToken(int hiddenSize, double bytesPerNumber) {
            Require.atLeast("hiddenSize", hiddenSize, 1);
            if (!(bytesPerNumber > 0) || Double.isInfinite(bytesPerNumber)) {
                throw Require.expected("bytesPerNumber", "a finite number above 0", bytesPerNumber);
            }
            return hiddenSize * bytesPerNumber;
        }
    }
}
