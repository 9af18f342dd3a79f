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
        StringWriter text = new StringWriter();
        graphics.stream(root, text, false, false);
        // Without the document type: a parser might fetch it from the network.
        return text.toString().replaceFirst("<!DOCTYPE[^>]*>\\s*", "").replace("\r\n", "\n");
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
