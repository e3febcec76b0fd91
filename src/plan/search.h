/* Private to the search for a plan: plan.c tries settings on layouts, choose.c picks one and gives the reason. */
#ifndef MF_PLAN_SEARCH_H
#define MF_PLAN_SEARCH_H

#include "src/plan/layout.h"

/** The fewest ranks within 10 % of the fastest, on GPUs or on cores; NULL: nothing fits there. */
struct mf_plan_candidate *mf_plan_choose(struct mf_plan *plan, int device);

/** Chooses GPUs if something fits there, unless cores are clearly faster; notes then say why not GPUs. NULL: nothing
 * fits. */
struct mf_plan_candidate *mf_plan_choose_device(const struct mf_plan_ask *ask, int device, struct mf_plan *plan);

/** Sets the reasons of all candidates, and notes about the chosen one. @p device: GPUs were tried. */
void mf_plan_reason(const struct mf_plan_ask *ask, int device, struct mf_plan_candidate *chosen,
                    const struct mf_placement *place, struct mf_plan *plan);

/** Refuses with MF_MEMORY, naming the candidate that exceeds memory least, and what would help. Sets plan->least.
 * MF_USAGE: there is no candidate at all. */
int mf_plan_nothing_fits(const struct mf_plan_ask *ask, struct mf_plan *plan);

/** "12.3 MiB", "4.56 GiB". */
const char *mf_plan_size_text(size_t bytes, char text[32]);

#endif
