/**
 * Recording what a router chooses while a layer runs, and giving it to a layer again. A trace in memory is one value; files of traces
 * are read and written by moe-checkpoint.
 */
@NullMarked
package org.moe4j.router.trace;

import org.jspecify.annotations.NullMarked;
