package org.moe4j.bench.hostile;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.core.backend.Backend;
import org.moe4j.merge.GatedMerge;
import org.moe4j.router.TopKRouter;

/** Everything of the four modules that a caller can construct or call, found by reflection. */
final class PublicApi {
    private static final List<Class<?>> ONE_OF_EACH =
            List.of(Backend.class, TopKRouter.class, GatedMerge.class, MoeCheckpoint.class);
    /** Public for the sake of other packages of ours; their package pages say that they are nobody's API. */
    private static final Set<String> NOBODYS =
            Set.of("org.moe4j.core.internal", "org.moe4j.core.host", "org.moe4j.core.vector.tile");

    private PublicApi() {}

    /**
     * Constructors and methods in a fixed order, those of Java's own making excluded: {@code values} and {@code valueOf} of enums,
     * {@code hashCode}.
     *
     * @return without bridges
     */
    static List<Executable> executables() {
        List<Executable> all = new ArrayList<>();
        for (Class<?> anchor : ONE_OF_EACH) {
            for (Class<?> type : types(anchor)) {
                all.addAll(List.of(type.getConstructors()));
                Arrays.stream(type.getDeclaredMethods())
                        .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                        .filter(method ->
                                !Set.of("values", "valueOf", "hashCode").contains(method.getName()))
                        .forEach(all::add);
            }
        }
        all.removeIf(
                executable -> Modifier.isAbstract(executable.getDeclaringClass().getModifiers())
                        && !executable.getDeclaringClass().isInterface()
                        && executable instanceof java.lang.reflect.Constructor);
        all.sort(Comparator.comparing(Executable::toString));
        return all;
    }

    private static List<Class<?>> types(Class<?> anchor) {
        try {
            Path place = Path.of(
                    anchor.getProtectionDomain().getCodeSource().getLocation().toURI());
            if (Files.isDirectory(place)) {
                return types(place, anchor.getClassLoader());
            }
            try (FileSystem jar = FileSystems.newFileSystem(place)) {
                return types(jar.getPath("/"), anchor.getClassLoader());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static List<Class<?>> types(Path root, ClassLoader loader) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            List<Class<?>> types = new ArrayList<>();
            for (Path file : (Iterable<Path>) files.sorted()::iterator) {
                String name = root.relativize(file).toString().replace('\\', '/');
                if (name.startsWith("org/moe4j/") && name.endsWith(".class") && !name.endsWith("package-info.class")) {
                    Class<?> type = load(name.substring(0, name.length() - 6).replace('/', '.'), loader);
                    if (!NOBODYS.contains(type.getPackageName()) && reachable(type)) {
                        types.add(type);
                    }
                }
            }
            return types;
        }
    }

    private static Class<?> load(String name, ClassLoader loader) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean reachable(Class<?> type) {
        if (type.isAnonymousClass() || type.isLocalClass() || !Modifier.isPublic(type.getModifiers())) {
            return false;
        }
        return type.getEnclosingClass() == null || reachable(type.getEnclosingClass());
    }
}
