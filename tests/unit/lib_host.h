/* A host of the library with an image: what tests of the library share. */
#ifndef TESTS_UNIT_LIB_HOST_H
#define TESTS_UNIT_LIB_HOST_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "include/mesoforge.h"
#include "tests/check.h"

enum { N = 40 };

static uint8_t image[N][N];

static inline void draw(void)
{
    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) image[y][x] = sin(0.5 * x + 0.3 * y) + cos(0.4 * y - 0.2 * x) > 0.2;
}

static inline struct mesoforge_array of(const void *data, const char *type, ptrdiff_t down, ptrdiff_t along)
{
    return (struct mesoforge_array){.type = type, .ndim = 2, .shape = {N, N}, .stride = {down, along}, .data = data};
}

/* A session with one thread and the field "image". */
struct host {
    mesoforge_session *session;
    mesoforge_field *field;
};

static inline struct host start(const struct mesoforge_array *array)
{
    const struct mesoforge_array plain = of(image, "u1", N, 1);
    struct host h = {NULL, NULL};

    CHECK(mesoforge_open(&h.session, "device=cpu threads=1") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(h.session, "image", array ? array : &plain, &h.field) == MESOFORGE_OK);
    return h;
}

static inline mesoforge_result *measure(const struct host *h, const char *options)
{
    mesoforge_result *result = NULL;
    int rc = mesoforge_characterize(h->session, h->field, options, &result);

    CHECK_SAYS(rc == MESOFORGE_OK, "%s: %s", options, mesoforge_last_error()->sentence);
    return result;
}

static inline int same_arrays(const mesoforge_result *a, const mesoforge_result *b)
{
    struct mesoforge_array one, other;
    size_t i = 0;

    for (; mesoforge_result_array(a, i, &one); ++i) {
        size_t bytes = sizeof(double);

        if (!mesoforge_result_array(b, i, &other) || strcmp(one.name, other.name) != 0) return 0;
        for (int k = 0; k < one.ndim; ++k) bytes *= one.shape[k];
        if (memcmp(one.data, other.data, bytes) != 0) return 0;
    }
    return i > 0 && !mesoforge_result_array(b, i, &other);
}

#endif
