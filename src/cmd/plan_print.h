/* A plan as a table for people. */
#ifndef MF_CMD_PLAN_PRINT_H
#define MF_CMD_PLAN_PRINT_H

#include <stdio.h>

#include "src/plan/plan.h"

/** What will be done, in a few lines; with @p explain also every array of the fullest rank and every candidate. */
void mf_plan_print(FILE *to, const struct mf_plan *plan, int explain);

#endif
