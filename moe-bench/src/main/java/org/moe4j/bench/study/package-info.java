/**
 * What studies share. A study is a package of its own below this one: question, setup, table, picture, what it shows; a pure
 * computation with fixed seeds. No study knows another.
 */
@NullMarked
package org.moe4j.bench.study;

import org.jspecify.annotations.NullMarked;
