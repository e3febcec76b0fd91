/* The verb properties of a dataset: adds the conductivities of its samples as columns. */
#ifndef MF_CMD_RECON_PROPERTIES_SET_H
#define MF_CMD_RECON_PROPERTIES_SET_H

#include "src/cmd/cmd.h"
#include "src/prop/sample.h"

struct mf_properties_of_set {
    const char *file;
    struct mf_reals conductivity;      /* of phases 0, 1, ...; or: */
    struct mf_longs conducting;        /* phases with conductivity 1 */
    const char *boundary;              /* word of the option */
    int axes;                          /* wanted axes were named */
    struct mf_conduct_columns columns; /* all but conductivities */
};

/** Adds columns conductivity_z, ... to the set, or with --output to a copy, and prints what they are. An interrupted
 * run goes on where it was. Collective; refuses (agreed) as mf_columns_open() and mf_conduct() do. */
int mf_properties_set_run(struct mf_session *session, const struct mf_properties_of_set *of);

#endif
