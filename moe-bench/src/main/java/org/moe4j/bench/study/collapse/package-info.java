/** The study of shared experts as one wider expert: the function, and how both forms train. */
@NullMarked
package org.moe4j.bench.study.collapse;

import org.jspecify.annotations.NullMarked;
