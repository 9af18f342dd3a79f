package org.moe4j.router;

/**
 * What the product of tokens and router weight is computed in. Tokens and weight are stored in the backend's precision, single or
 * double, in either case: there is no storage of half width, from which Megatron-Core's {@code moe_router_dtype} and others
 * lift the operands. What a model loses by rounding them to half width beforehand, no setting can bring back.
 */
public enum RouterPrecision {
    /** As the backend multiplies: on a single-precision backend products and sums are rounded to single precision. */
    BACKEND,
    /**
     * In {@code double} on the host, from the stored numbers: products of single-precision numbers are exact, sums are rounded to
     * double in the order of the columns, and the same on every backend. It takes one thread and a
     * copy of tokens and weight, and is slower than a backend's product. The backward products remain the backend's.
     */
    DOUBLE
}
