/* Files that a verb of many files leaves out because they were refused. Rule: one bad file costs no other one. Each is
 * named, and the verb ends with the code of the first. */
#ifndef MF_CMD_REFUSED_H
#define MF_CMD_REFUSED_H

#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/json.h"

struct mf_refused_file {
    size_t place; /* among all files */
    int code;
    char why[MF_ERR_TEXT];
};

struct mf_refused {
    struct mf_refused_file *file; /* [count] */
    size_t count, room;
};

/** Notes that the file at @p place was refused with @p code, forgets its sentence, and returns MF_OK. Returns the code
 * where it is not of the file: output, a device. Local. */
int mf_refused_note(struct mf_refused *refused, size_t place, int code);

/** Brings together what ranks noted of their own files. Collective; MF_MEMORY, agreed. */
int mf_refused_share(const struct mf_comm *comm, struct mf_refused *refused);

/** Sorts them by their places, and warns of the first ones of @p files. Refuses with the code of the first. MF_OK:
 * there are none. The same on all ranks. Local. */
int mf_refused_end(struct mf_refused *refused, size_t files);

/** [{"file", "error"}, ..], by the names of all files. The caller frees. Local. */
struct mf_json *mf_refused_json(const struct mf_refused *refused, const char *const *files);

void mf_refused_free(struct mf_refused *refused);

#endif
