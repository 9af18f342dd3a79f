package org.moe4j.router.analysis.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.stream.IntStream;
import org.moe4j.core.internal.Require;

/**
 * Experts of which the busiest have copies on several devices, each of which takes an even part of the expert's load: a countermeasure
 * to an uneven load, as DeepSeek-V3 serves it, with one spare expert beside eight on each of 32 devices (arXiv 2412.19437, section
 * 3.4). It is arithmetic on a load that was counted before; later tokens may have another one.
 */
public final class ExpertCopies {
    private static final int MOST_DEVICES = 1 << 16; // an expert has at most one copy for each, dealt out one by one

    private final int[] copies;
    private final List<List<Integer>> onDevice;
    private final double[] load;

    private ExpertCopies(int[] copies, List<List<Integer>> onDevice, double[] load) {
        this.copies = copies;
        this.onDevice = onDevice;
        this.load = load;
    }

    /**
     * Two greedy steps, as of DeepSeek's EPLB without its groups and nodes. <em>How many:</em> each expert has one copy; then, while
     * there are slots, the expert with the largest load per copy (of equal ones the lower) gets one more, but no more than there are
     * devices; slots that nobody can use stay empty. <em>Where:</em> from the largest load per copy down (of equal ones the lower
     * expert first), each copy goes to the least loaded device that has a free slot and no copy of the same expert (of equal ones the
     * lower); where every device with a free slot has one, to the least loaded of these. EPLB also puts copies of an expert on one device.
     *
     * @param expertLoad assignments of each of E experts
     * @param devices N, at least 1
     * @param slotsPerDevice experts that a device has room for; E in all at least
     * @return the copies
     * @see <a href="https://github.com/deepseek-ai/EPLB">deepseek-ai/EPLB, eplb.py</a>
     * @throws IllegalArgumentException for no expert, no device, a load below 0, or fewer slots than experts
     */
    public static ExpertCopies greedy(long[] expertLoad, int devices, int slotsPerDevice) {
        int experts = Require.atLeast("expertLoad.length", expertLoad.length, 1);
        Require.inRange("devices", devices, 1, MOST_DEVICES, "devices that hold copies");
        DevicePlacement.requireLoad(expertLoad);
        long slots = (long) devices * slotsPerDevice;
        if (slotsPerDevice < 1 || slots < experts) {
            throw Require.expected(
                    "slotsPerDevice", "room for " + experts + " experts on " + devices + " devices", slotsPerDevice);
        }
        int[] copies = howMany(expertLoad, devices, slots);
        List<List<Integer>> onDevice = new ArrayList<>();
        for (int d = 0; d < devices; d++) {
            onDevice.add(new ArrayList<>());
        }
        double[] load = new double[devices];
        PriorityQueue<Integer> free = new PriorityQueue<>(
                Comparator.comparingDouble((Integer device) -> load[device]).thenComparingInt(device -> device));
        IntStream.range(0, devices).forEach(free::add);
        for (int expert : heaviestFirst(expertLoad, copies)) {
            place(expert, copies[expert], perCopy(expertLoad, copies, expert), onDevice, load, free, slotsPerDevice);
        }
        onDevice.replaceAll(held -> {
            Collections.sort(held);
            return List.copyOf(held);
        });
        return new ExpertCopies(copies, List.copyOf(onDevice), load);
    }

    private static int[] howMany(long[] expertLoad, int devices, long slots) {
        int[] copies = new int[expertLoad.length];
        Arrays.fill(copies, 1);
        PriorityQueue<Integer> busiest =
                new PriorityQueue<>(Comparator.comparingDouble((Integer expert) -> -perCopy(expertLoad, copies, expert))
                        .thenComparingInt(expert -> expert));
        if (devices > 1) {
            IntStream.range(0, copies.length).forEach(busiest::add);
        }
        for (long spare = slots - expertLoad.length; spare > 0 && !busiest.isEmpty(); spare--) {
            int expert = busiest.remove();
            if (++copies[expert] < devices) { // else it is on all devices
                busiest.add(expert);
            }
        }
        return copies;
    }

    private static double perCopy(long[] expertLoad, int[] copies, int expert) {
        return (double) expertLoad[expert] / copies[expert];
    }

    private static List<Integer> heaviestFirst(long[] expertLoad, int[] copies) {
        List<Integer> order = new ArrayList<>();
        for (int e = 0; e < copies.length; e++) {
            order.add(e);
        }
        order.sort((a, b) -> Double.compare(perCopy(expertLoad, copies, b), perCopy(expertLoad, copies, a))); // stable
        return order;
    }

    /** Each copy to another device as long as there is one, the least loaded of those that have room. */
    private static void place(
            int expert,
            int copies,
            double perCopy,
            List<List<Integer>> onDevice,
            double[] load,
            PriorityQueue<Integer> free,
            int slotsPerDevice) {
        List<Integer> with = new ArrayList<>(); // devices with a copy already, and with room
        boolean all = false; // of the devices with room have a copy
        for (int copy = 0; copy < copies; copy++) {
            if (free.isEmpty()) {
                free.addAll(with);
                with.clear();
                all = true;
            }
            int device = free.remove();
            onDevice.get(device).add(expert);
            load[device] += perCopy;
            if (onDevice.get(device).size() < slotsPerDevice) {
                (all ? free : with).add(device);
            }
        }
        free.addAll(with);
    }

    /**
     * How many copies an expert has.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return at least 1
     */
    public int copies(int expert) {
        return copies[Objects.checkIndex(expert, copies.length)];
    }

    /**
     * The experts on a device.
     *
     * @param device 0 ≤ device &lt; N
     * @return ascending; an expert may occur twice
     */
    public List<Integer> experts(int device) {
        return onDevice.get(Objects.checkIndex(device, load.length));
    }

    /**
     * Load of a device: of each copy on it, the expert's load divided by its copies.
     *
     * @param device 0 ≤ device &lt; N
     * @return assignments
     */
    public double load(int device) {
        return load[Objects.checkIndex(device, load.length)];
    }

    /**
     * The busiest device against an even share; {@link DevicePlacement#imbalance} says what it was without copies.
     *
     * @return largest load over mean load; 0 where there is no load at all
     */
    public double imbalance() {
        return DevicePlacement.imbalanceOf(load);
    }
}
