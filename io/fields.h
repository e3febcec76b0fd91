/* Fields of real values on the voxels of a microstructure, in one VTKHDF file: what a computation has found there.
 * Rule: the file has its name when all fields are in it. */
#ifndef MF_IO_FIELDS_H
#define MF_IO_FIELDS_H

#include "io/micro.h"

#define MF_SCHEMA_FIELDS "fields" /* attribute schema of such a file */

struct mf_fields_wish {
    size_t fields;
    const char *const *name; /* [fields] of PointData */
    const int *values;       /* [fields] of a voxel: 1, or 3 of a vector along x, y, z */
};

struct mf_fields;

/** Makes the file with the phases, and with room for all fields. An image becomes two equal planes. Micro and
 * wish stay until mf_fields_close(). Collective; refuses (agreed) with MF_OUTPUT, and with MF_INPUT a microstructure of
 * one voxel along y or x. */
int mf_fields_open(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                   const struct mf_fields_wish *wish, const struct mf_provenance *provenance,
                   struct mf_fields **fields);

/** Writes planes [first, first + count) of field @p i. Ranks write planes of their own. Collective; MF_OUTPUT, agreed.
 */
int mf_fields_put(struct mf_fields *fields, size_t i, size_t first, size_t count, const float *value);

/** @p code MF_OK: all fields were written, and the file gets its seal and its name. Else it is removed. Returns the
 * agreed code. Collective; MF_OUTPUT. */
int mf_fields_close(struct mf_fields *fields, int code);

#endif
