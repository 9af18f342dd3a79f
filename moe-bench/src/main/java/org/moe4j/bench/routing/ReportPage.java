package org.moe4j.bench.routing;

import java.io.IOException;
import org.moe4j.bench.support.FigureFiles;

/** A {@link Report} as one HTML page: pictures inside, no script, nothing from elsewhere. */
final class ReportPage {
    /** The page says itself that a browser may fetch and run nothing. */
    private static final String HEAD = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            """;

    private static final String STYLE = """
            <style>
            body { margin: 0 auto; padding: 1.5rem; max-width: 84rem; color: #22262b; background: #fff;
              font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
            h1 { margin: 0 0 .5rem; line-height: 1.2; }
            h2 { margin: 2.5rem 0 .25rem; border-top: 1px solid #d5d9dd; padding-top: 1rem; }
            p { max-width: 60rem; margin: .25rem 0 1rem; }
            nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: 0; padding: 0; }
            .synthetic { border: 2px solid #9a4a00; background: #fff3e4; padding: .5rem 1rem; font-weight: 600; max-width: none; }
            .scroll { overflow: auto; max-height: 40rem; margin: 0 0 1.25rem; }
            table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
            caption { text-align: left; font-weight: 600; padding: .25rem 0; }
            th, td { padding: .15rem .75rem; text-align: right; white-space: nowrap; font-weight: 400; }
            thead th { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #22262b; font-weight: 600; }
            tbody tr:nth-child(even) { background: #f4f6f7; }
            th.left, tbody th { text-align: left; }
            figure { margin: 0 0 1.5rem; border: 1px solid #e4e7ea; }
            figure svg { display: block; width: 100%; height: auto; }
            figcaption { padding: .25rem 1.5rem .75rem; color: #5a626b; font-size: .875rem; }
            @media print { .scroll { max-height: none; } }
            </style>
            </head>
            <body>
            """;

    private ReportPage() {}

    static String of(Report report) throws IOException {
        StringBuilder page = new StringBuilder(HEAD)
                .append(Html.element("title", report.title()))
                .append(STYLE)
                .append("<header>\n")
                .append(Html.element("h1", report.title()));
        report.synthetic()
                .ifPresent(label -> page.append("<p class=\"synthetic\">")
                        .append(Html.escaped(label))
                        .append("</p>\n"));
        page.append("<nav aria-label=\"Parts\"><ul>\n");
        for (Part part : report.parts()) {
            page.append("<li><a href=\"#").append(part.key()).append("\">");
            page.append(Html.escaped(part.title())).append("</a></li>\n");
        }
        page.append("</ul></nav>\n</header>\n<main>\n");
        for (Part part : report.parts()) {
            page.append("<section id=\"").append(part.key()).append("\">\n").append(Html.element("h2", part.title()));
            page.append(Html.element("p", part.text()));
            for (Picture picture : part.pictures()) {
                page.append(Html.figure(FigureFiles.inline(picture.figure()), picture.caption()));
            }
            part.sheets().forEach(sheet -> page.append(Html.table(sheet.title(), sheet.shown())));
            page.append("</section>\n");
        }
        return page.append("</main>\n</body>\n</html>\n").toString();
    }
}
