/* The library computes on a GPU (here the emulator's): numbers and structures of cores. */
#include "tests/unit/lib_host.h"

static struct host start_on(const char *options)
{
    const struct mesoforge_array plain = of(image, "u1", N, 1);
    struct host h = {NULL, NULL};

    CHECK_SAYS(mesoforge_open(&h.session, options) == MESOFORGE_OK, "%s", mesoforge_last_error()->sentence);
    CHECK(mesoforge_field_array(h.session, "image", &plain, &h.field) == MESOFORGE_OK);
    return h;
}

/* To 1e-6: sums have another order. */
static void near(const mesoforge_result *a, const mesoforge_result *b)
{
    struct mesoforge_array one, other;
    size_t i = 0;

    for (; mesoforge_result_array(a, i, &one); ++i) {
        size_t n = 1;

        CHECK(mesoforge_result_array(b, i, &other) && strcmp(one.name, other.name) == 0);
        for (int k = 0; k < one.ndim; ++k) n *= one.shape[k];
        for (size_t k = 0; k < n; ++k)
            CHECK(fabs(((const double *)one.data)[k] - ((const double *)other.data)[k]) < 1e-6);
    }
    CHECK(i > 2);
}

static mesoforge_result *match(const struct host *h)
{
    static const char options[] =
        "limit-to=4 max_iter=3 size=8,8,8 plan=off descriptor_types=FFTCorrelations descriptor_types=Variation";
    mesoforge_result *r = NULL;

    CHECK_SAYS(mesoforge_match(h->session, h->field, options, &r) == MESOFORGE_OK, "%s",
               mesoforge_last_error()->sentence);
    return r;
}

int main(void)
{
    struct host cores, gpu;
    mesoforge_result *a, *b;
    struct mesoforge_array one, other;

    draw();
    cores = start_on("device=cpu threads=1");
    gpu = start_on("device=cuda threads=1");
    a = measure(&cores, "limit-to=5");
    b = measure(&gpu, "limit-to=5");
    near(a, b);
    mesoforge_result_free(a);
    mesoforge_result_free(b);
    a = match(&cores);
    b = match(&gpu);
    CHECK(mesoforge_result_array(a, 0, &one) && mesoforge_result_array(b, 0, &other));
    CHECK(memcmp(one.data, other.data, 8 * 8 * 8) == 0);
    mesoforge_result_free(a);
    mesoforge_result_free(b);
    CHECK(mesoforge_close(gpu.session) == MESOFORGE_OK);
    CHECK(mesoforge_close(cores.session) == MESOFORGE_OK);
    return failures != 0;
}
