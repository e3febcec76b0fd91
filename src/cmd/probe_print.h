/* A probe as a table and as an object. */
#ifndef MF_CMD_PROBE_PRINT_H
#define MF_CMD_PROBE_PRINT_H

#include <stdio.h>

#include "slurm/launcher.h"
#include "slurm/pmix.h"
#include "src/base/json.h"
#include "src/plan/probe.h"

/** Where a rank is on its node. */
struct mf_probe_place {
    char cores[96], nic[48]; /* "0-3,8"; the nearest network adapter, "": none */
};

/** gpu [ranks]: what each rank takes; shares [ranks]: cores of each rank when all share fairly. */
struct mf_probe_report {
    const struct mf_probe *probe;
    const int *gpu;
    const double *shares;
    const struct mf_probe_place *place; /* [ranks] */
    struct mf_launcher launcher;
    struct mf_pmix pmix;
    const char *refusal; /* why ranks and GPUs do not fit together; NULL */
};

void mf_probe_print(FILE *to, const struct mf_probe_report *report);

/** Caller frees. */
struct mf_json *mf_probe_json(const struct mf_probe_report *report);

#endif
