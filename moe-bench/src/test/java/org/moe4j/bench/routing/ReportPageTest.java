package org.moe4j.bench.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import nu.validator.htmlparser.common.XmlViolationPolicy;
import nu.validator.htmlparser.dom.HtmlDocumentBuilder;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.ErrorHandler;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import org.xml.sax.SAXParseException;

final class ReportPageTest {
    @BeforeAll
    static void noDisplay() {
        System.setProperty("java.awt.headless", "true");
    }

    /** Parses as HTML5 with every error and warning. */
    private static Document parsed(String page) throws IOException, SAXException {
        List<String> problems = new ArrayList<>();
        HtmlDocumentBuilder builder = new HtmlDocumentBuilder(XmlViolationPolicy.ALTER_INFOSET);
        builder.setErrorHandler(new ErrorHandler() {
            @Override
            public void warning(SAXParseException problem) {
                problems.add(problem.getMessage());
            }

            @Override
            public void error(SAXParseException problem) {
                problems.add(problem.getMessage());
            }

            @Override
            public void fatalError(SAXParseException problem) {
                problems.add(problem.getMessage());
            }
        });
        Document document = builder.parse(new InputSource(new StringReader(page)));
        assertThat(problems).isEmpty();
        return document;
    }

    @Test
    void pageIsHtmlWithoutErrors() throws Exception {
        Document page =
                parsed(SampleReport.of(Optional.of("Synthetic: made up")).html());
        assertThat(texts(page, "title")).first().isEqualTo("Routing of " + SampleReport.HOSTILE);
        assertThat(texts(page, "h2")).containsExactly("Load " + SampleReport.HOSTILE, "Batches");
        assertThat(page.getElementsByTagNameNS("*", "svg").getLength()).isEqualTo(3);
        assertThat(texts(page, "figcaption"))
                .containsExactly("Caption " + SampleReport.HOSTILE, "One bar per expert.", "Mean over blocks.");
    }

    @Test
    void textOfOthersStaysText() throws Exception {
        Document page = parsed(SampleReport.of(Optional.of("Synthetic " + SampleReport.HOSTILE))
                .html());
        for (String tag : List.of("script", "img", "link", "iframe", "object", "embed", "form", "image", "use")) {
            assertThat(page.getElementsByTagNameNS("*", tag).getLength())
                    .as(tag)
                    .isZero();
        }
        NodeList all = page.getElementsByTagNameNS("*", "*");
        Set<String> ids = new HashSet<>();
        for (int i = 0; i < all.getLength(); i++) {
            for (int a = 0; a < all.item(i).getAttributes().getLength(); a++) {
                String name = all.item(i).getAttributes().item(a).getNodeName();
                String value = all.item(i).getAttributes().item(a).getNodeValue();
                assertThat(name).doesNotStartWith("on");
                if (name.equals("href") || name.equals("src")) {
                    assertThat(value).startsWith("#");
                }
                if (name.equals("id")) {
                    assertThat(ids.add(value)).as("id " + value).isTrue();
                }
            }
        }
        assertThat(ids).containsExactlyInAnyOrder("load", "batch");
    }

    @Test
    void tablesHaveTheCellsAsTheyAreShown() throws Exception {
        Document page = parsed(SampleReport.of(Optional.empty()).html());
        assertThat(texts(page, "caption")).containsExactly("Load " + SampleReport.HOSTILE, "Batches");
        Element body = (Element) page.getElementsByTagName("tbody").item(0);
        assertThat(texts(body, "th")).containsExactly(SampleReport.HOSTILE, "0", "b", "1");
        assertThat(texts(body, "td")).containsExactly("1,234,567", "8.92 %", "5.71x", "2", "30.00 %", "-");
    }

    @Test
    void onlySyntheticTracesAreLabelled() throws Exception {
        String label = "Synthetic: made by a generator & no model";
        NodeList paragraphs = parsed(SampleReport.of(Optional.of(label)).html()).getElementsByTagName("p");
        Element first = (Element) paragraphs.item(0);
        assertThat(first.getAttribute("class")).isEqualTo("synthetic");
        assertThat(first.getTextContent()).isEqualTo(label);
        assertThat(SampleReport.of(Optional.empty()).html()).doesNotContain("class=\"synthetic\"");
        assertThat(SampleReport.of(Optional.of(label)).text()).startsWith(label + "\n\n");
    }

    @Test
    void jsonAndCsvHaveAllDigits() {
        Report report = SampleReport.of(Optional.empty());
        assertThat(report.json().get("load").get(1).get("share").doubleValue()).isEqualTo(0.1 + 0.2);
        assertThat(report.json().get("load").get(1).get("ratio").isNull()).isTrue();
        assertThat(report.json().get("load").get(0).get("tokens").longValue()).isEqualTo(1_234_567);
        assertThat(report.json().get("batch")).isEmpty();
        assertThat(SampleReport.sheet().exact().csv())
                .isEqualTo("passage,layer,tokens,share,ratio\n\"" + SampleReport.HOSTILE.replace("\"", "\"\"")
                        + "\",0,1234567,0.0892,5.71\nb,1,2,0.30000000000000004,\n");
    }

    @Test
    void whatIsNoNumberIsRefused() {
        assertThatThrownBy(() -> Cell.of(Double.NaN))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("value: expected a finite number but was NaN");
        assertThatThrownBy(() -> new Sheet("s", "t", 0, List.of(Column.plain("a", "a")), List.of(List.of())))
                .hasMessage("s: expected 1 cells (columns) but was 0");
    }

    @Test
    void namesBecomeOneHarmlessLine() {
        assertThat(Html.line("a\u0000\u001b[31m\u202eb\ud800c\uffff\u2028d", 60))
                .isEqualTo("a??[31m?b?c??d");
        assertThat(Html.line("\ud83d\ude00\ud83d\ude00\ud83d\ude00", 2)).isEqualTo("\ud83d\ude00\ud83d\ude00…");
        assertThat(Html.line("précis <b>", 60)).isEqualTo("précis <b>");
    }

    private static List<String> texts(Document document, String tag) {
        return texts(document.getDocumentElement(), tag);
    }

    private static List<String> texts(Element root, String tag) {
        NodeList nodes = root.getElementsByTagName(tag);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            texts.add(nodes.item(i).getTextContent());
        }
        return texts;
    }
}
