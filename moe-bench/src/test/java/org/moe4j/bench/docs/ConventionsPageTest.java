package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The numbers of docs/conventions.md. A new Example needs an entry of its section's title in one of the classes below, which claims
 * every number in it.
 */
final class ConventionsPageTest {
    private static final List<Map<String, Consumer<Example>>> EXAMPLES = List.of(
            ScoreExamples.all(),
            ChoiceExamples.all(),
            SelectionExamples.all(),
            GroupExamples.all(),
            WeightExamples.all(),
            CapacityExamples.all(),
            ExpertExamples.all(),
            LayerExamples.all(),
            PathExamples.all(),
            LossExamples.all(),
            MergeExamples.all(),
            RewriteExamples.all());

    private static Map<String, Consumer<Example>> examples() {
        Map<String, Consumer<Example>> all = new HashMap<>();
        for (Map<String, Consumer<Example>> some : EXAMPLES) {
            some.forEach((title, example) -> assertThat(all.put(title, example))
                    .as("second example of %s", title)
                    .isNull());
        }
        return all;
    }

    @TestFactory
    Stream<DynamicTest> everyNumberOfEveryExampleIsComputed() throws IOException {
        ConventionsPage page = ConventionsPage.read();
        return examples().entrySet().stream()
                .map(entry -> DynamicTest.dynamicTest(entry.getKey(), () -> {
                    Example example = new Example(entry.getKey(), page.example(entry.getKey()));
                    entry.getValue().accept(example);
                    example.requireAllClaimed();
                }));
    }

    @Test
    void everySectionHasAnExampleThatIsComputed() throws IOException {
        ConventionsPage page = ConventionsPage.read();
        assertThat(page.titles()).containsExactlyInAnyOrderElementsOf(examples().keySet());
        assertThat(page.titles())
                .allSatisfy(title -> assertThat(page.example(title)).as(title).isNotEmpty());
    }

    @Test
    void theIndexLeadsToEverySectionInTheirOrder() throws IOException {
        ConventionsPage page = ConventionsPage.read();
        assertThat(page.indexed())
                .containsExactlyElementsOf(
                        page.titles().stream().map(ConventionsPage::anchor).toList());
    }
}
