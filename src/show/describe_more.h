/* What describe.h shows of the further descriptors of a target. */
#ifndef MF_SHOW_DESCRIBE_MORE_H
#define MF_SHOW_DESCRIBE_MORE_H

#include <stdio.h>

#include "io/plot.h"
#include "io/target.h"
#include "src/base/json.h"

/** Level 0 of those that have at most 4096 entries, as lists in the order of docs/DESCRIPTORS.md: {name: {side: [..]}}.
 */
void mf_describe_more_json(struct mf_json *phase, const struct mf_target *target, int ndim, int index);

/** The same of those of pairs of phases (of the target's order, not of their labels). */
void mf_describe_pair_json(struct mf_json *pair, const struct mf_target *target, int ndim, size_t index, int turned);

/** The exact lineal path by length, if the target has it. */
void mf_describe_more_text(FILE *to, const struct mf_target *target, int ndim, int phase);

/** One panel of curves: the exact lineal path of one side. Its numbers and names live in @p lines, whose values are the
 * caller's. */
struct mf_lineal_lines {
    char title[96], name[4][16];
    double *values; /* [4 + 1][L + 1]: lengths, then the curves */
    struct mf_curve curve[4];
};
void mf_describe_lineal(const struct mf_target *target, int ndim, int phase, int side, struct mf_lineal_lines *lines,
                        struct mf_panel *panel);

#endif
