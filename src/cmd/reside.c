/* See reside.h. */
#include "src/cmd/reside.h"

#include <string.h>

#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum mf_residency mf_recon_residency(const struct mf_recon_cmd *o)
{
    if (strcmp(o->residency, "auto") == 0) return MF_RESIDE_AUTO;
    return strcmp(o->residency, "host") == 0 ? MF_RESIDE_HOST : MF_RESIDE_DEVICE;
}

int mf_recon_reside(struct mf_session *s, const struct mf_recon_cmd *o)
{
    if (mf_options_given(s->options, "residency") && !mf_apart(s->queue))
        mf_info("--residency %s: the %s back end has one memory, the host's", o->residency, s->backend->name);
    return mf_session_reside(s, mf_recon_residency(o) == MF_RESIDE_HOST);
}

int mf_recon_solve(struct mf_session *s, const struct mf_recon_cmd *o, const size_t dims[3],
                   const struct mf_target *target, size_t batch, struct mf_solve_opts *opts,
                   struct mf_solve_result *result)
{
    int rc = mf_solve(s->comm, s->home->backend, s->home, dims, target, opts, result);

    if (rc != MF_MEMORY || result->evaluations > 0 || mf_recon_residency(o) != MF_RESIDE_AUTO) return rc;
    if (!mf_apart(s->queue) || s->home != s->queue) return rc;
    mf_warn("%s; going on with fields in host memory", mf_err_text());
    mf_err_clear();
    opts->objective.batch = batch;
    MF_TRY(mf_session_reside(s, 1));
    return mf_solve(s->comm, s->home->backend, s->home, dims, target, opts, result);
}
