/* See reside.h. */
#include "src/cmd/reside.h"

#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum mf_residency mf_residency_of(const char *residency)
{
    if (strcmp(residency, "auto") == 0) return MF_RESIDE_AUTO;
    return strcmp(residency, "host") == 0 ? MF_RESIDE_HOST : MF_RESIDE_DEVICE;
}

int mf_reside(struct mf_session *s, const char *residency)
{
    if (mf_options_given(s->options, "residency") && !mf_apart(s->queue))
        mf_info("--residency %s: the %s back end has one memory, the host's", residency, s->backend->name);
    return mf_session_reside(s, mf_residency_of(residency) == MF_RESIDE_HOST);
}

/* After a refusal @p rc that all ranks share: may fields in host memory do? */
static int moves(const struct mf_session *s, const char *residency, int rc)
{
    if (rc != MF_MEMORY || mf_residency_of(residency) != MF_RESIDE_AUTO) return 0;
    if (!mf_apart(s->queue) || s->home != s->queue) return 0;
    mf_warn("%s; going on with fields in host memory", mf_err_text());
    mf_err_clear();
    return 1;
}

int mf_reside_characterize(struct mf_session *s, const char *residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out)
{
    int rc = mf_characterize(s->comm, s->home->backend, s->home, s->arena, micro, opts, out);

    if (moves(s, residency, rc)) {
        MF_TRY(mf_session_reside(s, 1));
        rc = mf_characterize(s->comm, s->home->backend, s->home, s->arena, micro, opts, out);
    }
    if (rc != MF_OK) return rc;
    rc = mf_micro_hash(s->comm, micro);
    memcpy(out->hash, micro->hash, sizeof out->hash);
    if (rc != MF_OK) mf_target_free(out);
    return rc;
}

int mf_reside_solve(struct mf_session *s, const char *residency, const size_t dims[3], const struct mf_target *target,
                    size_t batch, struct mf_solve_opts *opts, struct mf_solve_result *result)
{
    int rc = mf_solve(s->comm, s->home->backend, s->home, dims, target, opts, result);

    if (result->evaluations > 0 || !moves(s, residency, rc)) return rc;
    opts->objective.batch = batch;
    MF_TRY(mf_session_reside(s, 1));
    return mf_solve(s->comm, s->home->backend, s->home, dims, target, opts, result);
}
