/* See mask.h. */
#include "src/cmd/mask.h"

#include "io/hash.h"
#include "src/base/err.h"
#include "src/cmd/reside.h"
#include "src/desc/masked.h"

int mf_mask_check(size_t count, const char *const *names, long lag)
{
    if (lag < 2) return mf_fail(MF_USAGE, "--mask needs --limit_to 2 or more: neighbours are a lag of 1 apart");
    return mf_mask_known(count, names);
}

int mf_masked_characterize(struct mf_session *s, const char *residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out)
{
    const struct mf_characterize_opts each = mf_mask_opts(opts);
    struct mf_target all = {0}, counted = {0};
    int rc;

    if (opts->symmetry && micro->ndim == 3)
        return mf_fail(MF_USAGE, "--mask: --symmetry of a volume turns it as a whole; leave one of them out");
    MF_TRY(mf_mask_apply(micro));
    rc = mf_reside_characterize(s, residency, micro, &each, &all);
    if (rc == MF_OK) rc = mf_reside_characterize(s, residency, micro->mask, &each, &counted);
    if (rc == MF_OK) rc = mf_agree(s->comm, mf_mask_divide(&all, &counted, opts, out));
    if (rc == MF_OK) mf_hash_join(2, (const char *[]){all.hash, counted.hash}, out->hash);
    mf_target_free(&all);
    mf_target_free(&counted);
    return rc;
}
