/* Shows a probe as a table and as a JSON object. */
#ifndef MF_CMD_HOST_PROBE_PRINT_H
#define MF_CMD_HOST_PROBE_PRINT_H

#include <stdio.h>

#include "slurm/launcher.h"
#include "slurm/pmix.h"
#include "src/base/json.h"
#include "src/session/where.h"

/** gpu [ranks]: the GPU of each rank. */
struct mf_probe_report {
    const struct mf_probe *probe;
    const int *gpu;
    const struct mf_where *where; /* [ranks] */
    struct mf_launcher launcher;
    struct mf_pmix pmix;
    const char *refusal; /* why ranks and GPUs do not match; NULL */
};

/** Ends with the settings of the training guide's table (src/train/table.h) for all GPUs that may be used. */
void mf_probe_print(FILE *to, const struct mf_probe_report *report);

/** The same; "settings" has those. Caller frees. */
struct mf_json *mf_probe_json(const struct mf_probe_report *report);

#endif
