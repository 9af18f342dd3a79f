package org.moe4j.router.analysis;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.moe4j.core.dispatch.Routing;

/** Experts of tokens as plain lists, drawn from a seed; the definitions that the measures are held to read these. */
public record DrawnRouting(int experts, List<List<Integer>> tokens) {
    /** Of seed 1 no tokens, of 2 one token, of 3 one expert, of others more than a block of tokens now and then. */
    public static DrawnRouting draw(long seed) {
        Random random = new Random(seed);
        int experts = seed == 3 ? 1 : 1 + random.nextInt(seed % 4 == 0 ? 150 : 20);
        int count = seed == 1 ? 0 : seed == 2 ? 1 : seed == 5 ? RoutingSource.BLOCK + 77 : random.nextInt(300);
        return draw(experts, count, 1 + random.nextInt(experts), seed % 3 == 2, random);
    }

    /** Uneven on purpose: experts of low index are chosen more often. */
    public static DrawnRouting draw(int experts, int count, int topK, boolean varying, Random random) {
        List<List<Integer>> tokens = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            List<Integer> left = new ArrayList<>();
            for (int e = 0; e < experts; e++) {
                left.add(e);
            }
            List<Integer> chosen = new ArrayList<>();
            int own = varying ? random.nextInt(topK + 1) : topK;
            while (chosen.size() < own) {
                chosen.add(left.remove(Math.min(random.nextInt(left.size()), random.nextInt(left.size()))));
            }
            tokens.add(chosen);
        }
        return new DrawnRouting(experts, tokens);
    }

    /** A passage of another kind: experts in the opposite order. */
    public DrawnRouting turned() {
        List<List<Integer>> turned = new ArrayList<>();
        for (List<Integer> token : tokens) {
            turned.add(token.stream().map(e -> experts - 1 - e).toList());
        }
        return new DrawnRouting(experts, turned);
    }

    public DrawnRouting part(int from, int to) {
        return new DrawnRouting(experts, tokens.subList(from, to));
    }

    public RoutingSource source() {
        return RoutingSource.of(routing());
    }

    public Routing routing() {
        int[] offsets = new int[tokens.size() + 1];
        List<Integer> slots = new ArrayList<>();
        for (int t = 0; t < tokens.size(); t++) {
            slots.addAll(tokens.get(t));
            offsets[t + 1] = slots.size();
        }
        return Routing.ofVarying(
                experts,
                offsets,
                slots.stream().mapToInt(e -> e).toArray(),
                Collections.nCopies(slots.size(), 1.0).stream()
                        .mapToDouble(w -> w)
                        .toArray());
    }

    public long count(int expert) {
        return tokens.stream().filter(token -> token.contains(expert)).count();
    }

    public long assignments() {
        return tokens.stream().mapToInt(List::size).sum();
    }

    /** The same tokens, read through blocks of a size. */
    public <O extends RoutingObserver> O shownTo(O observer, int size) {
        RoutingSource source = source();
        for (int from = 0; from < tokens.size(); from += size) {
            observer.add(source.block(from, Math.min(size, tokens.size() - from)));
        }
        return observer;
    }
}
