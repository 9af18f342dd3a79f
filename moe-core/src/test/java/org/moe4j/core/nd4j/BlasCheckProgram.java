package org.moe4j.core.nd4j;

import org.moe4j.core.host.Workers;

/** Checks OpenBLAS as the first backend of a process does, and prints how long that takes and what it finds. */
final class BlasCheckProgram {
    private BlasCheckProgram() {}

    public static void main(String[] none) {
        Natives.load();
        OpenBlas.hasSmallKernels();
        new Workers(2).forEach(2, Workers.SMALL, i -> {}); // there before the clock starts, as with any backend
        long start = System.nanoTime();
        String found = BlasCheck.all(new Workers(2)).orElse("right");
        long millis = (System.nanoTime() - start) / 1_000_000;
        System.out.println("checked in " + millis + " ms, " + Nd4jBackend.blasReport() + ": " + found);
    }
}
