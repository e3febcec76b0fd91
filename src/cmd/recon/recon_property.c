/* See recon_opts.h: the properties of several results. */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/recon/properties.h"
#include "src/cmd/recon/recon_opts.h"

/* The axis's conductivity in each object; returns how many have it. */
static size_t gather(const struct mf_json *all, const char *name, double *value)
{
    size_t n = 0;

    for (size_t i = 0; i < mf_json_count(all); ++i) {
        const struct mf_json *one = mf_json_get(mf_json_get(mf_json_item(all, i), "properties"), name);

        if (one) value[n++] = mf_json_get_real(one, "is");
    }
    return n;
}

void mf_recon_property_means(const struct mf_json *all)
{
    double *value = MF_MUST(calloc(mf_json_count(all) + 1, sizeof *value), "conductivities");

    for (int a = 0; a < 3; ++a) {
        char name[32];
        struct mf_conducted_mean m;

        snprintf(name, sizeof name, "conductivity_%c", "zyx"[a]);
        m = mf_mean_of(gather(all, name, value), value);
        if (m.files > 1)
            mf_info("%s of %zu results: %.6g +- %.2g (95 %% interval of the mean), deviation %.3g", name, m.files,
                    m.mean, m.interval, m.deviation);
    }
    free(value);
}
