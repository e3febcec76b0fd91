/* The parts of a comparison of sets. Private to src/show. */
#ifndef MF_SHOW_SETS_IMPL_H
#define MF_SHOW_SETS_IMPL_H

#include "src/show/sets.h"

/** How samples of a set are read, as the file has them. Local. */
struct mf_reader_wish mf_sets_reading(const struct mf_dataset *set);

/** Fills s->copies; @p wanted < 0: as many as take about half a minute. Collective; refuses (agreed) as
 * mf_samples_read() does. */
int mf_sets_count_copies(const struct mf_show *show, long wanted, struct mf_sets *s);

#endif
