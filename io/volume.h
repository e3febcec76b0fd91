/* A volume as HDF5, and the .xdmf beside it (docs/FILES.md has the layout). One file holds our schema and VTKHDF image
 * data. */
#ifndef MF_IO_VOLUME_H
#define MF_IO_VOLUME_H

#include "io/h5.h"
#include "io/micro.h"

enum { MF_SCHEMA_VERSION = 1 };

/** Writes the volume, and then the .xdmf. If only the .xdmf fails, the refusal says so. @p provenance may be NULL; rank
 * 0's is used. Collective; MF_OUTPUT, agreed. */
int mf_volume_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                    const struct mf_provenance *provenance);

/** Refuses (MF_OUTPUT) a name whose .xdmf could not be written. Not collective. */
int mf_volume_may_write(const char *path);

/**
 * Writes the attributes at the root of every HDF5 file of this program. They are schema (a word) and schema_version,
 * creator, version, created (UTC), command, options, seed, input_sha256. Adds /results as JSON text and /convergence
 * [rows][3] if there are any. @p created [MF_UNIT_TEXT]: from mf_created(), by rank 0. Not collective. MF_OUTPUT.
 */
int mf_h5_provenance(struct mf_h5 *file, const char *schema, const char *created,
                     const struct mf_provenance *provenance);

/** Writes the attributes of VTKHDF image data. Its arrays belong into /VTKHDF/PointData, phase among them. They have
 * two equal planes where the microstructure has one. Not collective. MF_OUTPUT. */
int mf_h5_vtk(struct mf_h5 *file, const struct mf_micro *micro);

/** Now, ISO 8601 UTC, rank 0's clock on all ranks. Collective. */
void mf_created(const struct mf_comm *comm, char text[MF_UNIT_TEXT]);

#endif
