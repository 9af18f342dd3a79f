package org.moe4j.core.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** Ends, as by an interrupt, while a folder is filled and a file is there. */
final class LeftoverProbe {
    private LeftoverProbe() {}

    @SuppressWarnings("resource") // not closed: that is the point
    public static void main(String[] parent) throws IOException, InterruptedException {
        Path folder = Files.createDirectory(new Leftover(Path.of(parent[0], ".folder.tmp")).path());
        Files.createFile(new Leftover(Path.of(parent[0], ".file.tmp")).path());
        CountDownLatch begun = new CountDownLatch(1);
        Thread writer = new Thread(() -> fill(folder, begun));
        writer.setDaemon(true);
        writer.start();
        begun.await();
        System.exit(0);
    }

    private static void fill(Path folder, CountDownLatch begun) {
        try {
            for (int i = 0; i < Integer.MAX_VALUE; i++) {
                Files.createFile(folder.resolve("" + i));
                begun.countDown();
            }
        } catch (NoSuchFileException e) {
            // the folder is gone, as it has to be
        } catch (IOException e) {
            System.out.println(e);
        }
    }
}
