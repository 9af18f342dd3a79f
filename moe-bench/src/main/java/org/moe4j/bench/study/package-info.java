/** Studies: question, setup, table, picture, what it shows. Each is a pure computation with fixed seeds. */
@NullMarked
package org.moe4j.bench.study;

import org.jspecify.annotations.NullMarked;
