/** Our layer beside the same layer in other libraries: the measuring and the table. The other libraries are known by {@link org.moe4j.bench.peers.Peer} alone. */
@NullMarked
package org.moe4j.bench.peers;

import org.jspecify.annotations.NullMarked;
