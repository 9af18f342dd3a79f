package org.moe4j.bench;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.Map;
import java.util.TreeMap;

/** The walls of docs/architecture.md, checked on the main classes of every module. */
@AnalyzeClasses(packages = "org.moe4j", importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {
    private static final int MOST_PUBLIC_TYPES = 12;

    private static final String BACKEND = "org.moe4j.core.backend..";
    private static final String HOST = "org.moe4j.core.host..";
    private static final String PARAMETER = "org.moe4j.core.parameter..";
    private static final String DISPATCH = "org.moe4j.core.dispatch..";
    private static final String EXPERT = "org.moe4j.core.expert..";
    private static final String LAYER = "org.moe4j.core.layer..";
    private static final String PRESET = "org.moe4j.core.preset..";

    @ArchTest
    static final ArchRule onlyOneRoomTouchesNd4j = noClasses()
            .that()
            .resideOutsideOfPackages("org.moe4j.core.nd4j..", "..jmh..", "..peers..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.nd4j..", "org.bytedeco..")
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule coreKnowsNoOtherModule = mayNotDependOn(
            "org.moe4j.core..",
            "org.moe4j.router..",
            "org.moe4j.merge..",
            "org.moe4j.checkpoint..",
            "org.moe4j.bench..");

    @ArchTest
    static final ArchRule routerKnowsOnlyCore =
            mayNotDependOn("org.moe4j.router..", "org.moe4j.merge..", "org.moe4j.checkpoint..", "org.moe4j.bench..");

    @ArchTest
    static final ArchRule mergeKnowsOnlyCore =
            mayNotDependOn("org.moe4j.merge..", "org.moe4j.router..", "org.moe4j.checkpoint..", "org.moe4j.bench..");

    @ArchTest
    static final ArchRule checkpointDoesNotKnowBench = mayNotDependOn("org.moe4j.checkpoint..", "org.moe4j.bench..");

    @ArchTest
    static final ArchRule packagesOfCoreAreAcyclic =
            slices().matching("org.moe4j.core.(*)..").should().beFreeOfCycles().allowEmptyShould(true);

    @ArchTest
    static final ArchRule routersDoNotKnowWhatMeasuresThem = noClasses()
            .that()
            .resideInAnyPackage("org.moe4j.router", "org.moe4j.router.loss..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.moe4j.router.analysis..", "org.moe4j.router.trace..");

    @ArchTest
    static final ArchRule measuresOfARoutingDoNotKnowEachOther =
            slices().matching("org.moe4j.router.analysis.(*)..").should().notDependOnEachOther();

    @ArchTest
    static final ArchRule packagesOfAnalysisAreAcyclic =
            slices().matching("org.moe4j.router.(analysis..)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule packagesOfMergeAreAcyclic =
            slices().matching("org.moe4j.(merge..)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule packagesOfCheckpointAreAcyclic =
            slices().matching("org.moe4j.(checkpoint..)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule safetensorsKnowsOnlyWhatARowIs = noClasses()
            .that()
            .resideInAPackage("org.moe4j.checkpoint.safetensors..")
            .should()
            .dependOnClassesThat(resideInAnyPackage("org.moe4j..")
                    .and(resideOutside("org.moe4j.checkpoint.safetensors..", BACKEND, "org.moe4j.core.internal..")))
            .as("safetensors should know nothing of ours but a backend's RowSource");

    @ArchTest
    static final ArchRule noStudyKnowsAnother =
            slices().matching("org.moe4j.bench.study.(*)..").should().notDependOnEachOther();

    @ArchTest
    static final ArchRule backendIsTheLowestLayer = onlyKnowsOfCore(BACKEND);

    @ArchTest
    static final ArchRule parameterKnowsBackend = onlyKnowsOfCore(PARAMETER, BACKEND);

    @ArchTest
    static final ArchRule dispatchKnowsParameterPresetAndBelow = onlyKnowsOfCore(DISPATCH, PARAMETER, BACKEND, PRESET);

    @ArchTest
    static final ArchRule expertKnowsDispatchPresetAndBelow =
            onlyKnowsOfCore(EXPERT, DISPATCH, PARAMETER, BACKEND, PRESET);

    @ArchTest
    static final ArchRule layerKnowsNoBackendByName = onlyKnowsOfCore(LAYER, EXPERT, DISPATCH, PARAMETER, BACKEND);

    @ArchTest
    static final ArchRule presetIsData = onlyKnowsOfCore(PRESET);

    @ArchTest
    static final ArchRule referenceKnowsBackend = onlyKnowsOfCore("org.moe4j.core.reference..", BACKEND);

    @ArchTest
    static final ArchRule hostKnowsBackend = onlyKnowsOfCore(HOST, BACKEND);

    @ArchTest
    static final ArchRule nd4jKnowsBackendAndHost = onlyKnowsOfCore("org.moe4j.core.nd4j..", BACKEND, HOST);

    @ArchTest
    static final ArchRule vectorKnowsBackendAndHost = onlyKnowsOfCore("org.moe4j.core.vector..", BACKEND, HOST);

    @ArchTest
    static final ArchRule onlyKernelsAndTheMeasureOfReadingTouchTheVectorApi = noClasses()
            .that()
            .resideOutsideOfPackages("org.moe4j.core.vector.tile..", "org.moe4j.bench.limits.read..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("jdk.incubator..")
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule internalIsOurs = noClasses()
            .that()
            .resideOutsideOfPackage("org.moe4j..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.moe4j.core.internal..")
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule onlyBenchPrints = noClasses()
            .that()
            .resideOutsideOfPackage("org.moe4j.bench..")
            .should(ACCESS_STANDARD_STREAMS)
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule nobodyDeserializes = noClasses()
            .should()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.io.ObjectInputStream")
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule packagesAreSmall = classes()
            .that()
            .resideOutsideOfPackage("..jmh_generated..") // JMH's, several for a benchmark
            .should(beOneOfFewPublicTypesInTheirPackage())
            .allowEmptyShould(true);

    private static ArchRule mayNotDependOn(String module, String... others) {
        return noClasses()
                .that()
                .resideInAPackage(module)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(others)
                .allowEmptyShould(true);
    }

    /** Of our own packages, {@code room} may depend only on itself, the named ones and the argument checks. */
    private static ArchRule onlyKnowsOfCore(String room, String... others) {
        return noClasses()
                .that()
                .resideInAPackage(room)
                .should()
                .dependOnClassesThat(resideInAnyPackage("org.moe4j..")
                        .and(resideOutside(room))
                        .and(resideOutside("org.moe4j.core.internal.."))
                        .and(resideOutside(others)))
                .as("classes in " + room + " should know nothing of ours but " + String.join(", ", others)
                        + " and org.moe4j.core.internal")
                .allowEmptyShould(true);
    }

    private static DescribedPredicate<JavaClass> resideOutside(String... packages) {
        return DescribedPredicate.not(resideInAnyPackage(packages));
    }

    private static ArchCondition<JavaClass> beOneOfFewPublicTypesInTheirPackage() {
        return new ArchCondition<>(
                "share their package with at most " + MOST_PUBLIC_TYPES + " public top-level types") {
            private final Map<String, Integer> publicTypes = new TreeMap<>();

            @Override
            public void check(JavaClass type, ConditionEvents events) {
                if (type.isTopLevelClass() && type.getModifiers().contains(JavaModifier.PUBLIC)) {
                    publicTypes.merge(type.getPackageName(), 1, Integer::sum);
                }
            }

            @Override
            public void finish(ConditionEvents events) {
                publicTypes.forEach((name, count) -> events.add(new SimpleConditionEvent(
                        name,
                        count <= MOST_PUBLIC_TYPES,
                        name + ": expected at most " + MOST_PUBLIC_TYPES + " public top-level types but was "
                                + count)));
            }
        };
    }
}
