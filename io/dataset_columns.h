/* Adds columns of real values to a dataset, where a value takes long to compute.
 *
 * Rows go to PATH.columns as they come, each with a checksum. Rows that are whole count when the same columns are
 * opened again. At the end the set is copied together with its columns, sealed, and gets the name PATH. PATH.columns
 * goes then. Rule: a set stays as it is until then. Everything else in it is kept. */
#ifndef MF_IO_DATASET_COLUMNS_H
#define MF_IO_DATASET_COLUMNS_H

#include "io/dataset.h"

enum { MF_COLUMNS_SAID = 1024 };

struct mf_columns_wish {
    size_t columns;
    const char *const *name; /* [columns] */
    const char *said;        /* what the values follow from, a text shorter than MF_COLUMNS_SAID */
};

struct mf_columns;

/**
 * Begins the columns of @p set, or goes on with them. The set with columns will be @p path, the same file or another
 * one. In another one they replace columns of the same name. Set and wish stay until mf_columns_close(). @p path is
 * locked.
 *
 * Collective; refuses (agreed) and changes nothing:
 * - MF_USAGE: the same file has such a column that follows from something else. Or PATH.columns has rows of other
 *   columns.
 * - MF_INPUT: the set would have more than MF_REALS_MAX columns.
 * - MF_OUTPUT: no room for the new set.
 */
int mf_columns_open(const struct mf_comm *comm, const struct mf_dataset *set, const char *path,
                    const struct mf_columns_wish *wish, struct mf_columns **columns);

/** [samples] 1: its row was there when the columns were opened. The same on all ranks. Local. */
const uint8_t *mf_columns_status(const struct mf_columns *columns);

/** Writes the row @p value [columns] of a sample. Each is for one rank. Local; MF_OUTPUT, or MF_INPUT where a value is
 * not finite. Fault site "io.write". */
int mf_columns_put(struct mf_columns *columns, size_t id, const float *value);

/** All rows are there: @p value [samples][columns] gets them, and the set gets its name. Collective; refuses (agreed)
 * with MF_OUTPUT, MF_INPUT. PATH.columns stays then. */
int mf_columns_finish(struct mf_columns *columns, float *value);

/** NULL is accepted. Rows that were put stay. Collective. */
void mf_columns_close(struct mf_columns *columns);

#endif
