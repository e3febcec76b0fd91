/* See tally_impl.h: what hangs together in a slice. A single pixel joins or cuts what is far from it, so the slices
 * that a swap touches are counted anew. */
#include "src/recon/tally_impl.h"

const struct mf_counted mf_counted_cluster_function = {.whole = &mf_count_cluster_function};
const struct mf_counted mf_counted_cluster = {.whole = &mf_count_clusters};
const struct mf_counted mf_counted_way = {.whole = &mf_count_ways};
