package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** A library that is wrong in one way, and only in products of one kind: 25 ways times four kinds. */
final class FaultyBlas implements Blas {
    /** One product with plain arrays, row-major; c holds what was there before, and gets the result. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Product(int m, int n, int k, double[] a, double[] b, boolean add, double[] c, double u) {
        double[] old() {
            return c.clone();
        }

        /** The right result from so many of the terms. */
        void run(int terms) {
            if (!add) {
                Arrays.fill(c, 0);
            }
            for (int i = 0; i < m; i++) {
                for (int t = 0; t < terms; t++) {
                    for (int j = 0; j < n; j++) {
                        c[i * n + j] += a[i * k + t] * b[t * n + j];
                    }
                }
            }
        }

        double gauge(int at) {
            double gauge = 0;
            for (int t = 0; t < k; t++) {
                gauge += Math.abs(a[at / n * k + t] * b[t * n + at % n]);
            }
            return gauge;
        }

        double allowed(int at) {
            return 2 * Math.sqrt(k) * u * gauge(at);
        }
    }

    /** Does the product wrongly. */
    interface Fault {
        void run(Product p);
    }

    /** Which products are wrong. */
    interface Kind {
        boolean has(int m, int n, int k, boolean transA, boolean transB);
    }

    private record Named<T>(String name, T is) {}

    private static Named<Fault> fault(String name, Fault fault) {
        return new Named<>(name, fault);
    }

    /** The right result with something done to it afterwards. */
    private static Named<Fault> after(String name, Fault change) {
        return fault(name, p -> {
            p.run(p.k());
            change.run(p);
        });
    }

    /** The right result of changed factors. */
    private static Named<Fault> before(String name, Fault change) {
        return fault(name, p -> {
            change.run(p);
            p.run(p.k());
        });
    }

    private static void off(Product p, int at) {
        p.c()[at] += 2.5 * p.allowed(at);
    }

    /** Rounds to so many digits. */
    private static double digits(double value, int digits) {
        double scale = Math.scalb(1.0, digits - Math.getExponent(value));
        return value == 0 ? 0 : Math.rint(value * scale) / scale;
    }

    private static void swap(double[] values, int one, int other) {
        double kept = values[one];
        values[one] = values[other];
        values[other] = kept;
    }

    private static List<Named<Fault>> faults() {
        List<Named<Fault>> faults = new ArrayList<>(List.of(
                after("first element", p -> off(p, 0)),
                after("last element", p -> off(p, p.c().length - 1)),
                after("middle element", p -> off(p, p.c().length / 2)),
                after("last of the first row", p -> off(p, p.n() - 1)),
                after("last row's first", p -> off(p, (p.m() - 1) * p.n())),
                after("NaN", p -> p.c()[p.n() / 2] = Double.NaN),
                after("infinity", p -> p.c()[p.c().length - 1] = Double.POSITIVE_INFINITY),
                after("sign", p -> p.c()[p.c().length / 3] *= -1),
                after("zeros", p -> Arrays.fill(p.c(), 0)),
                fault("last term lost", p -> p.run(p.k() - 1)),
                fault("terms beyond a multiple of 4 lost", p -> p.run(p.k() % 4 == 0 ? p.k() - 1 : p.k() / 4 * 4)),
                fault("last term twice", p -> {
                    p.run(p.k());
                    for (int i = 0; i < p.c().length; i++) {
                        p.c()[i] += p.a()[(i / p.n() + 1) * p.k() - 1] * p.b()[(p.k() - 1) * p.n() + i % p.n()];
                    }
                }),
                fault("last column stale", p -> {
                    double[] old = p.old();
                    p.run(p.k());
                    for (int i = p.n() - 1; i < old.length; i += p.n()) {
                        p.c()[i] = old[i];
                    }
                }),
                fault("last row stale", p -> {
                    double[] old = p.old();
                    p.run(p.k());
                    System.arraycopy(old, (p.m() - 1) * p.n(), p.c(), (p.m() - 1) * p.n(), p.n());
                }),
                fault("nothing written", p -> {}),
                fault(
                        "beta the other way",
                        p -> new Product(p.m(), p.n(), p.k(), p.a(), p.b(), !p.add(), p.c(), 0).run(p.k())),
                before("alpha 2", p -> Arrays.setAll(p.a(), i -> 2 * p.a()[i])),
                before("alpha −1", p -> Arrays.setAll(p.a(), i -> -p.a()[i])),
                before("left taken for its transpose", p -> {
                    double[] a = p.a().clone();
                    Arrays.setAll(p.a(), i -> a[i % p.k() * p.m() + i / p.k()]);
                    p.a()[0] += 1; // a vector is its transpose
                }),
                before("right taken for its transpose", p -> {
                    double[] b = p.b().clone();
                    Arrays.setAll(p.b(), i -> b[i % p.n() * p.k() + i / p.n()]);
                    p.b()[0] -= 1;
                }),
                before(
                        "factor of fewer digits",
                        p -> Arrays.setAll(p.a(), i -> digits(p.a()[i], p.u() == 0x1p-24 ? 8 : 23))),
                fault("sums of fewer digits", p -> {
                    double[] old = p.old();
                    for (int i = 0; i < p.c().length; i++) {
                        double sum = p.add() ? old[i] : 0;
                        for (int t = 0; t < p.k(); t++) {
                            double term = p.a()[i / p.n() * p.k() + t] * p.b()[t * p.n() + i % p.n()];
                            sum = digits(sum + term, p.u() == 0x1p-24 ? 10 : 23);
                        }
                        p.c()[i] = sum;
                    }
                }),
                after("first two elements exchanged", p -> {
                    swap(p.c(), 0, p.c().length - 1);
                    off(p, 0);
                }),
                before("rows of the left factor in another order", p -> {
                    for (int t = 0; t < p.k(); t++) {
                        swap(p.a(), t, (p.m() - 1) * p.k() + t);
                    }
                    p.a()[0] *= -1; // where there is one row only
                })));
        return faults;
    }

    private static List<Named<Kind>> kinds() {
        return List.of(
                new Named<>("everywhere", (m, n, k, transA, transB) -> true),
                new Named<>("neither transposed, some terms", (m, n, k, a, b) -> !a && !b && k > 1),
                new Named<>("left as it is, right transposed", (m, n, k, a, b) -> !a && b),
                new Named<>("long sums of many columns", (m, n, k, a, b) -> k > 100 && n > 32));
    }

    /** All of them, in a precision each. */
    static List<FaultyBlas> all() {
        List<FaultyBlas> all = new ArrayList<>();
        for (Named<Fault> fault : faults()) {
            for (Named<Kind> kind : kinds()) {
                boolean single = all.size() % 2 == all.size() / 4 % 2;
                all.add(new FaultyBlas(fault.name() + ", " + kind.name(), single, fault.is(), kind.is(), false));
            }
        }
        for (Named<Kind> kind : kinds()) {
            Fault none = p -> p.run(p.k());
            all.add(new FaultyBlas("two threads at once, " + kind.name(), false, none, kind.is(), true));
        }
        return all;
    }

    private final String name;
    private final boolean single;
    private final Fault fault;
    private final Kind kind;
    private final boolean race;
    private final AtomicInteger inside = new AtomicInteger();

    private FaultyBlas(String name, boolean single, Fault fault, Kind kind, boolean race) {
        this.name = name;
        this.single = single;
        this.fault = fault;
        this.kind = kind;
        this.race = race;
    }

    Elements elements() {
        return single ? new FloatElements() : new DoubleElements();
    }

    private Blas right() {
        return single ? new FloatBlas() : new DoubleBlas();
    }

    @Override
    public String toString() {
        return name + (single ? ", float32" : ", float64");
    }

    @Override
    public boolean hasSmallKernels() {
        return right().hasSmallKernels();
    }

    @Override
    public void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
        if (!kind.has(m, n, k, a.transposed(), b.transposed())) {
            right().gemm(m, n, k, a, b, add, c);
        } else if (race) {
            inside.incrementAndGet();
            right().gemm(m, n, k, a, b, add, c);
            pause();
            if (inside.getAndDecrement() > 1) {
                elements().write(c.buffer().block(), c.at(), new double[] {1e3}, 0, 1);
            }
        } else {
            Product p = new Product(
                    m,
                    n,
                    k,
                    read(a, m, k),
                    read(b, k, n),
                    add,
                    read(c, m, n),
                    elements().unitRoundoff());
            fault.run(p);
            for (int i = 0; i < m; i++) {
                elements().write(c.buffer().block(), c.fromRow(i).at(), p.c(), i * n, n);
            }
        }
    }

    /** As long as a library's own time in a large product, so that two threads meet. */
    private static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private double[] read(Operand from, int rows, int columns) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                Operand at = from.fromRow(i).fromColumn(j);
                elements().read(at.buffer().block(), at.at(), values, i * columns + j, 1);
            }
        }
        return values;
    }
}
