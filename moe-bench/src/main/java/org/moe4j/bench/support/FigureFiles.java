package org.moe4j.bench.support;

import java.awt.Dimension;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.StringWriter;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.apache.batik.svggen.SVGGraphics2D;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** A figure as the content of a file. */
public final class FigureFiles {
    /** Pixels of the PNG for one unit of the drawing. */
    private static final int PIXELS_PER_UNIT = 2;

    private static final String SVG = "http://www.w3.org/2000/svg";

    private FigureFiles() {}

    /**
     * As a drawing in which text is text.
     *
     * @param figure what to draw
     * @return an SVG document
     * @throws IOException when it cannot be written
     */
    public static String svg(Figure figure) throws IOException {
        return "<?xml version=\"1.0\"?>\n" + element(drawn(figure));
    }

    /**
     * As an element of an HTML page: as wide as the page lets it be, with a name for those who do not see it, and with nothing that
     * could occur twice in a page with several.
     *
     * @param figure what to draw
     * @return an SVG element
     * @throws IOException when it cannot be written
     */
    public static String inline(Figure figure) throws IOException {
        Element root = drawn(figure);
        root.setAttributeNS(null, "role", "img");
        root.setAttributeNS(null, "aria-label", figure.title());
        root.removeAttribute("width");
        root.removeAttribute("height");
        NodeList definitions = root.getElementsByTagNameNS(SVG, "defs");
        while (definitions.getLength() > 0) {
            Node empty = definitions.item(0); // no figure has gradients or clips
            empty.getParentNode().removeChild(empty);
        }
        return element(root);
    }

    private static Element drawn(Figure figure) {
        Document document = document();
        SVGGraphics2D graphics = new SVGGraphics2D(document);
        int width = Figure.WIDTH;
        int height = figure.height();
        graphics.setSVGCanvasSize(new Dimension(width, height));
        figure.paint(graphics);
        Element root = graphics.getRoot();
        root.setAttributeNS(null, "viewBox", "0 0 " + width + " " + height);
        Element title = document.createElementNS(SVG, "title");
        title.setTextContent(figure.title());
        root.insertBefore(title, root.getFirstChild());
        return root;
    }

    private static String element(Element root) throws IOException {
        StringWriter text = new StringWriter();
        new SVGGraphics2D(root.getOwnerDocument()).stream(root, text, false, false);
        // Without the declaration, which an element of a page has not, and the document type: a parser might fetch it
        // from the network.
        return text.toString()
                .replace("\r\n", "\n")
                .replaceFirst("^<\\?xml[^>]*>\\s*", "")
                .replaceFirst("^<!DOCTYPE[^>]*>\\s*", "");
    }

    private static Document document() {
        try {
            return DocumentBuilderFactory.newInstance()
                    .newDocumentBuilder()
                    .getDOMImplementation()
                    .createDocument(SVG, "svg", null);
        } catch (ParserConfigurationException e) {
            throw new IllegalStateException("svg: expected a JDK with XML documents", e);
        }
    }

    /**
     * As pixels.
     *
     * @param figure what to draw
     * @return a PNG file
     * @throws IOException when it cannot be written
     */
    public static byte[] png(Figure figure) throws IOException {
        BufferedImage image = new BufferedImage(
                PIXELS_PER_UNIT * Figure.WIDTH, PIXELS_PER_UNIT * figure.height(), BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.scale(PIXELS_PER_UNIT, PIXELS_PER_UNIT);
        figure.paint(graphics);
        graphics.dispose();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        if (!ImageIO.write(image, "png", bytes)) {
            throw new IOException("png: expected a writer for PNG in this JDK but was none");
        }
        return bytes.toByteArray();
    }
}
