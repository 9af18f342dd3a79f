package org.moe4j.router.analysis.device;

import java.util.Arrays;
import java.util.List;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingObserver;

/**
 * Over how many devices the experts of a token are spread, and how many assignments each device has. The tokens of several layers may
 * follow each other: the mean is then over tokens and layers, as in the article on OLMoE-1B-7B (LLM Architecture Refresh 5), section 7.
 */
public final class DeviceSpread implements RoutingObserver {
    private final DevicePlacement placement;
    private final int[] deviceOf;
    private final long[] expertLoad; // not of devices: one after another, their counts would wait for each other
    private final long[] tokensByDevices;
    private final long[] lastToken; // of a device, from 1
    private long tokens;

    /**
     * Nothing counted yet.
     *
     * @param placement of the experts
     */
    public DeviceSpread(DevicePlacement placement) {
        this.placement = placement;
        deviceOf = placement.deviceOfExperts();
        expertLoad = new long[deviceOf.length];
        tokensByDevices = new long[placement.devices() + 1];
        lastToken = new long[placement.devices()];
    }

    @Override
    public void add(ChosenExperts block) {
        Require.count("block", block.experts(), deviceOf.length, "experts (of the placement)");
        if (lastToken.length <= Long.SIZE) {
            addToBits(block);
        } else {
            addToMarks(block);
        }
        tokens += block.tokens();
    }

    private void addToBits(ChosenExperts block) {
        for (int t = 0; t < block.tokens(); t++) {
            long reached = 0;
            for (int slot = block.start(t), end = block.end(t); slot < end; slot++) {
                int expert = block.expert(slot);
                expertLoad[expert]++;
                reached |= 1L << deviceOf[expert];
            }
            tokensByDevices[Long.bitCount(reached)]++;
        }
    }

    private void addToMarks(ChosenExperts block) {
        for (int t = 0; t < block.tokens(); t++) {
            long mark = tokens + t + 1;
            int reached = 0;
            for (int slot = block.start(t), end = block.end(t); slot < end; slot++) {
                int expert = block.expert(slot);
                expertLoad[expert]++;
                int device = deviceOf[expert];
                if (lastToken[device] != mark) {
                    lastToken[device] = mark;
                    reached++;
                }
            }
            tokensByDevices[reached]++;
        }
    }

    /**
     * What was counted so far.
     *
     * @return later tokens do not change it
     */
    public Result result() {
        return new Result(
                placement.devices(),
                tokens,
                Arrays.stream(placement.load(expertLoad)).boxed().toList(),
                Arrays.stream(tokensByDevices).boxed().toList());
    }

    /**
     * The spread of some tokens.
     *
     * @param devices N
     * @param tokens T
     * @param load assignments of each device
     * @param tokensByDevices for n = 0..N the tokens whose experts stand on n devices
     */
    public record Result(int devices, long tokens, List<Long> load, List<Long> tokensByDevices) {
        /**
         * Copies the lists.
         *
         * @param devices N
         * @param tokens T
         * @param load assignments of each device
         * @param tokensByDevices for n = 0..N the tokens whose experts stand on n devices
         */
        public Result {
            load = List.copyOf(load);
            tokensByDevices = List.copyOf(tokensByDevices);
            Require.atLeast("devices", devices, 1);
            Require.count("tokensByDevices", tokensByDevices.size(), devices + 1L, "numbers (0..devices)");
        }

        /**
         * Devices that a token reaches.
         *
         * @return the mean over tokens; 0 without any
         */
        public double devicesPerToken() {
            return tokens == 0 ? 0 : (double) visits() / tokens;
        }

        /**
         * Pairs of a token and a device that it reaches.
         *
         * @return their number
         */
        public long visits() {
            long sum = 0;
            for (int n = 0; n <= devices; n++) {
                sum += n * tokensByDevices.get(n);
            }
            return sum;
        }

        /**
         * The devices of a token as a share of those there are.
         *
         * @return in [0, 1]
         */
        public double shareOfDevices() {
            return devicesPerToken() / devices;
        }

        /**
         * The share of tokens that need every device.
         *
         * @return in [0, 1]; 0 without tokens
         */
        public double shareNeedingAll() {
            return tokens == 0 ? 0 : (double) tokensByDevices.get(devices) / tokens;
        }

        /**
         * Assignments of all devices.
         *
         * @return T·K when every token has K
         */
        public long assignments() {
            return load.stream().mapToLong(Long::longValue).sum();
        }

        /**
         * The busiest device against an even share.
         *
         * @return largest load over mean load; 0 without assignments
         */
        public double busiestToEven() {
            return DevicePlacement.imbalanceOf(
                    load.stream().mapToDouble(Long::doubleValue).toArray());
        }
    }
}
