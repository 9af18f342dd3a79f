/**
 * Experts on several devices, as arithmetic on a routing: how many devices a token reaches, how even their load is, what copies of busy
 * experts change, and how many bytes travel. Nothing here runs on several devices or measures a network.
 */
@NullMarked
package org.moe4j.router.analysis.device;

import org.jspecify.annotations.NullMarked;
