package org.moe4j.router.analysis.device;

import java.util.Arrays;
import java.util.Objects;
import org.moe4j.core.internal.Require;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;

/** Which of N devices holds each of E experts. A device may hold none, so that N may exceed E. */
public final class DevicePlacement {
    private final int devices;
    private final int[] deviceOf;

    private DevicePlacement(int devices, int[] deviceOf) {
        this.devices = devices;
        this.deviceOf = deviceOf;
    }

    /**
     * Blocks of consecutive experts, as expert parallelism deals them out: where N does not divide E, each of the first E mod N devices
     * has one expert more than the others.
     *
     * @param experts E, at least 1
     * @param devices N, at least 1
     * @return the placement
     * @throws IllegalArgumentException for fewer than 1 expert or device
     */
    public static DevicePlacement contiguous(int experts, int devices) {
        requireCounts(experts, devices);
        int size = experts / devices;
        int larger = experts % devices;
        int[] deviceOf = new int[experts];
        for (int e = 0; e < experts; e++) {
            int inLarger = larger * (size + 1);
            deviceOf[e] = e < inLarger ? e / (size + 1) : larger + (e - inLarger) / size;
        }
        return new DevicePlacement(devices, deviceOf);
    }

    /**
     * Expert e on device e mod N.
     *
     * @param experts E, at least 1
     * @param devices N, at least 1
     * @return the placement
     * @throws IllegalArgumentException for fewer than 1 expert or device
     */
    public static DevicePlacement strided(int experts, int devices) {
        requireCounts(experts, devices);
        int[] deviceOf = new int[experts];
        Arrays.setAll(deviceOf, e -> e % devices);
        return new DevicePlacement(devices, deviceOf);
    }

    /**
     * Any placement.
     *
     * @param devices N, at least 1
     * @param deviceOf for each of E experts its device, 0..N−1; copied
     * @return the placement
     * @throws IllegalArgumentException for no expert, no device, or a device out of range
     */
    public static DevicePlacement of(int devices, int[] deviceOf) {
        requireCounts(deviceOf.length, devices);
        for (int e = 0; e < deviceOf.length; e++) {
            Require.inRange("deviceOf[" + e + "]", deviceOf[e], 0, devices - 1, "devices");
        }
        return new DevicePlacement(devices, deviceOf.clone());
    }

    private static void requireCounts(int experts, int devices) {
        Require.atLeast("experts", experts, 1);
        Require.atLeast("devices", devices, 1);
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return deviceOf.length;
    }

    /**
     * Number of devices.
     *
     * @return N
     */
    public int devices() {
        return devices;
    }

    /**
     * The device of an expert.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return 0 ≤ device &lt; N
     */
    public int device(int expert) {
        return deviceOf[Objects.checkIndex(expert, deviceOf.length)];
    }

    /**
     * How many experts a device holds.
     *
     * @param device 0 ≤ device &lt; N
     * @return 0 for a device without experts
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public int expertsOn(int device) {
        Objects.checkIndex(device, devices);
        return (int) Arrays.stream(deviceOf).filter(d -> d == device).count();
    }

    /** The device of each expert; not to be changed. */
    int[] deviceOfExperts() {
        return deviceOf;
    }

    /**
     * Load of the devices: the sums of their experts' loads.
     *
     * @param expertLoad assignments of each of E experts
     * @return N sums
     * @throws IllegalArgumentException for loads of another number of experts, or one below 0
     */
    public long[] load(long[] expertLoad) {
        requireLoad(expertLoad);
        Require.count("expertLoad", expertLoad.length, deviceOf.length, "loads (experts)");
        long[] load = new long[devices];
        for (int e = 0; e < deviceOf.length; e++) {
            load[deviceOf[e]] = plus(load[deviceOf[e]], expertLoad[e]);
        }
        return load;
    }

    private static long plus(long load, long more) {
        if (load > Long.MAX_VALUE - more) {
            throw Require.expected("expertLoad", "at most 2^63 - 1 assignments of a device", load + " and " + more);
        }
        return load + more;
    }

    static void requireLoad(long[] expertLoad) {
        for (int e = 0; e < expertLoad.length; e++) {
            if (expertLoad[e] < 0) {
                throw Require.expected("expertLoad[" + e + "]", "at least 0", expertLoad[e]);
            }
        }
    }

    /**
     * The busiest device against an even share: the largest load divided by the mean.
     *
     * @param expertLoad assignments of each of E experts
     * @return 1 where all devices have the same; 0 where there is no load at all
     */
    public double imbalance(long[] expertLoad) {
        return imbalanceOf(Arrays.stream(load(expertLoad)).asDoubleStream().toArray());
    }

    static double imbalanceOf(double[] load) {
        double sum = Arrays.stream(load).sum();
        return sum == 0 ? 0 : Arrays.stream(load).max().orElse(0) * load.length / sum;
    }

    /**
     * Devices that a token reaches on average if its K experts are drawn without replacement, all alike:
     * {@code Σ_d (1 − C(E − n_d, K) / C(E, K))}, n_d being the experts on device d. What a real router reaches may be more or less.
     *
     * @param topK K in 0..E
     * @return the expectation
     * @throws IllegalArgumentException for {@code topK} out of range
     */
    public double expectedDevices(int topK) {
        Require.inRange("topK", topK, 0, deviceOf.length, "experts");
        double sum = 0;
        for (int d = 0; d < devices; d++) {
            sum += hitChance(expertsOn(d), topK);
        }
        return sum;
    }

    /** One minus {@code Π_i (1 − n/(E − i))}, i from 0 to K − 1, by logarithms, so that small chances keep their digits. */
    private double hitChance(int held, int topK) {
        if (deviceOf.length - held < topK) {
            return 1;
        }
        double logMiss = 0;
        for (int i = 0; i < topK; i++) {
            logMiss += Math.log1p(-(double) held / (deviceOf.length - i));
        }
        return -Math.expm1(logMiss);
    }

    /**
     * A number of devices that no token can exceed with a router: K and N, and with {@link ExpertSelection.GroupLimited} the devices of
     * its kept groups. A group may stand on several devices; of the groups, those on the most devices are counted. With DeepSeek-V3's 4
     * of 8 groups, each on a device of its own, that is 4 (arXiv 2412.19437, section 2.1.2, calls it node-limited routing).
     *
     * <p>{@link ExpertSelection.ClosedGroups#ZERO} caps nothing, as a closed expert may outrank an open one. Where a token may have
     * more than K experts, as with {@link ExpertSelection.ExpertChoice} or a replay of varying numbers, E takes the place of K.
     *
     * @param config of the router, with E experts
     * @return at most N
     * @throws IllegalArgumentException for {@code config} with another number of experts
     */
    public int mostDevices(RouterConfig config) {
        Require.count("config", config.experts(), deviceOf.length, "experts (of the placement)");
        int occupied = (int) Arrays.stream(deviceOf).distinct().count();
        boolean mayHaveMore =
                config.selection().wholeBatch() && !config.selection().fixedCount();
        int assignments = mayHaveMore ? config.experts() : config.topK();
        int most = Math.min(assignments, occupied);
        if (config.selection() instanceof ExpertSelection.GroupLimited limited
                && limited.closedGroups() == ExpertSelection.ClosedGroups.MINUS_INFINITY) {
            most = Math.min(most, ofGroups(limited));
        }
        return most;
    }

    private int ofGroups(ExpertSelection.GroupLimited limited) {
        int size = deviceOf.length / limited.groups();
        int[] reached = new int[limited.groups()];
        Arrays.setAll(reached, g -> (int)
                Arrays.stream(deviceOf, g * size, (g + 1) * size).distinct().count());
        Arrays.sort(reached);
        return Arrays.stream(reached, limited.groups() - limited.keptGroups(), limited.groups())
                .sum();
    }

    @Override
    public String toString() {
        return "DevicePlacement[" + deviceOf.length + " experts, " + devices + " devices]";
    }
}
