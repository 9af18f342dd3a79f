package org.moe4j.checkpoint.safetensors;

/** What storing did to numbers: filled while they are written, by one thread. */
public final class StoredRounding {
    private long numbers;
    private long rounded;
    private double largest;

    /** Nothing stored yet. */
    public StoredRounding() {}

    /** The number {@code value · factor} was stored. */
    void add(double value, double factor, double stored) {
        numbers++;
        double product = value * factor;
        double rest = Math.fma(value, factor, -product); // what the product itself has lost
        if (stored != product || rest != 0) {
            rounded++;
            double difference = Math.abs(product - stored + rest);
            largest = Math.max(largest, product == 0 ? 1 : difference / Math.abs(product));
        }
    }

    /**
     * How many numbers were stored.
     *
     * @return at least 0
     */
    public long numbers() {
        return numbers;
    }

    /**
     * How many of them could not be stored as they are.
     *
     * @return at least 0
     */
    public long rounded() {
        return rounded;
    }

    /**
     * The largest change of a number, as a part of it.
     *
     * @return 0 where nothing was rounded, 1 where a number became 0
     */
    public double largest() {
        return largest;
    }

    @Override
    public String toString() {
        return rounded + " of " + numbers + " numbers rounded, by at most " + largest;
    }
}
