package org.moe4j.bench.peers;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * The layer as a TorchScript archive without weights, which are arguments. Every expert that has tokens gathers them, runs three products,
 * and adds its weighted rows to the output.
 *
 * @see <a href="https://github.com/pytorch/pytorch/blob/main/torch/csrc/jit/docs/serialization.md">the archive</a>
 */
final class TorchScript {
    private static final String CODE =
            """
            class Layer(Module):
              __parameters__ = []
              __buffers__ = []
              training : bool
              def forward(self: __torch__.Layer,
                tokens: Tensor,
                router: Tensor,
                weights: List[Tensor]) -> Tensor:
                scores = torch.softmax(torch.linear(tokens, router), -1)
                top, chosen = torch.topk(scores, %2$d)
                mask = torch.permute(torch.one_hot(chosen, %1$d), [2, 1, 0])
                output = torch.zeros_like(tokens)
                for e in range(%1$d):
                  slots, rows = torch.where(torch.select(mask, 0, e))
                  if torch.gt(torch.numel(rows), 0):
                    state = torch.index_select(tokens, 0, rows)
                    first = torch.mul(e, 3)
                    gate = torch.silu(torch.linear(state, weights[first]))
                    hidden = torch.mul(gate, torch.linear(state, weights[torch.add(first, 1)]))
                    y = torch.linear(hidden, weights[torch.add(first, 2)])
                    factor = torch.index(top, annotate(List[Optional[Tensor]], [rows, slots]))
                    output = torch.index_add_(output, 0, rows, torch.mul(y, torch.unsqueeze(factor, -1)))
                  else:
                    pass
                return output
            """;

    private TorchScript() {}

    /** Writes the archive. */
    static void write(Path file, LayerSize size) throws IOException {
        String code = String.format(java.util.Locale.ROOT, CODE, size.experts(), size.topK());
        try (OutputStream out = Files.newOutputStream(file);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            put(zip, "layer/data.pkl", module());
            put(zip, "layer/code/__torch__.py", code.getBytes(StandardCharsets.UTF_8));
            put(zip, "layer/constants.pkl", new byte[] {(byte) 0x80, 2, ')', '.'}); // an empty tuple
            put(zip, "layer/version", "3\n".getBytes(StandardCharsets.UTF_8));
        }
    }

    /** An object of the class with {@code training = False}, as a pickle of protocol 2. */
    private static byte[] module() {
        byte[] name = "training".getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream pickle = new ByteArrayOutputStream();
        pickle.writeBytes(new byte[] {(byte) 0x80, 2}); // protocol
        pickle.writeBytes("c__torch__\nLayer\n".getBytes(StandardCharsets.UTF_8)); // the class
        pickle.writeBytes(new byte[] {')', (byte) 0x81}); // its object, without arguments
        pickle.writeBytes(new byte[] {'}', '(', 'X', (byte) name.length, 0, 0, 0}); // a dictionary
        pickle.writeBytes(name);
        pickle.writeBytes(new byte[] {(byte) 0x89, 'u', 'b', '.'}); // False; into the dictionary; into the object
        return pickle.toByteArray();
    }

    /** PyTorch maps what it reads, so nothing is compressed. */
    private static void put(ZipOutputStream zip, String name, byte[] content) throws IOException {
        CRC32 sum = new CRC32();
        sum.update(content);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(content.length);
        entry.setCrc(sum.getValue());
        zip.putNextEntry(entry);
        zip.write(content);
        zip.closeEntry();
    }
}
