/* See copies.h. */
#include "src/desc/copies.h"

#include <stdlib.h>

#include "kernels/copy.h"
#include "src/base/err.h"

uint8_t *mf_example_classes(const struct mf_target_side *side, int phase)
{
    size_t n = side->example_nu * side->example_nv;
    uint8_t *x = malloc(n + 1);

    for (size_t i = 0; x && i < n; ++i)
        x[i] = phase < 0 ? (uint8_t)(int)side->example[i] : (uint8_t)(side->example[i] == (double)phase);
    return x;
}

int mf_copies(const struct mf_target *got, const struct mf_target *want, double *share)
{
    const int same = got->phases == want->phases;

    *share = 0;
    for (int d = 0; d < got->sides; ++d) {
        const struct mf_target_side *a = mf_target_for(got, (enum mf_normal)d);
        const struct mf_target_side *b = mf_target_for(want, (enum mf_normal)d);
        uint8_t *mine = mf_example_classes(a, same ? -1 : 1),
                *theirs = mf_example_classes(b, same ? -1 : want->phases > 1);
        const struct mf_copy_image image = {mine, a->example_nu, a->example_nv, mf_target_example_periodic(got, a)};
        const struct mf_copy_image example = {theirs, b->example_nu, b->example_nv,
                                              mf_target_example_periodic(want, b)};
        double one = 0;
        int rc = mine && theirs ? mf_copy_share(&image, &example, &one) : mf_fail(MF_MEMORY, "no memory for windows");

        free(mine);
        free(theirs);
        MF_TRY(rc);
        *share += one / got->sides;
    }
    return MF_OK;
}
