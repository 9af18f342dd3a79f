/**
 * Routings that no router made: drawn so that their expected load has a published shape, for tests, demonstrations and measurements of
 * speed. What is drawn from a shape says nothing about the model that the shape was measured on.
 */
@NullMarked
package org.moe4j.router.analysis.synthetic;

import org.jspecify.annotations.NullMarked;
