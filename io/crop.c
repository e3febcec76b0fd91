/* See crop.h. */
#include "io/crop.h"

#include "io/image.h"
#include "src/base/err.h"

static int is_of(const struct mf_array *a, const struct mf_crop *c)
{
    return c->of[0] == 0 || (c->of[0] == a->shape[0] && c->of[1] == a->shape[1]);
}

static int is_inside(const struct mf_array *a, const struct mf_crop *c)
{
    for (int d = 0; d < 2; ++d)
        if (c->count[d] == 0 || c->count[d] > a->shape[d] || c->first[d] > a->shape[d] - c->count[d]) return 0;
    return 1;
}

int mf_array_crop(struct mf_array *a, const struct mf_crop *c)
{
    if (a->ndim != 2)
        return mf_fail(MF_INPUT,
                       "'%s' has %d axes, and --crop takes a part of an image, which has two; try: cut it with NumPy",
                       a->path, a->ndim);
    if (!is_of(a, c))
        return mf_fail(MF_INPUT, "'%s' has %zu x %zu pixels (y x), and the image that is cropped with it has %zu x %zu",
                       a->path, a->shape[0], a->shape[1], c->of[0], c->of[1]);
    if (!is_inside(a, c))
        return mf_fail(MF_USAGE,
                       "--crop %zu %zu %zu %zu (y x height width) is not inside '%s', which has %zu x %zu pixels (y x)",
                       c->first[0], c->first[1], c->count[0], c->count[1], a->path, a->shape[0], a->shape[1]);
    for (int d = 0; d < 2; ++d) {
        a->whole[d] = a->shape[d];
        a->corner[d] = c->first[d];
        a->shape[d] = c->count[d];
    }
    a->cropped = 1;
    return MF_OK;
}

/* A visit of all columns, of which some are wanted. */
struct part {
    const struct mf_array *array;
    mf_array_take *take;
    void *context;
};

/* Values of one row from column x on. */
static int take_row(const struct part *p, const char *values, size_t n, size_t y, size_t x)
{
    const size_t each = mf_image_values(p->array), width = p->array->shape[1] * each, left = p->array->corner[1] * each;
    const size_t from = x > left ? x : left, to = x + n < left + width ? x + n : left + width;

    if (from >= to) return MF_OK;
    return p->take(p->context, values + (from - x) * p->array->size, to - from, y * width + from - left, 1);
}

/* Along a row, or down a column of a Fortran array. */
static int take_part(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    const struct part *p = context;
    const size_t wide = p->array->whole[1] * mf_image_values(p->array), width = p->array->shape[1],
                 left = p->array->corner[1];

    if (stride != 1) { /* only arrays without channels have it */
        const size_t x = at % wide;

        if (x < left || x >= left + width) return MF_OK;
        return p->take(p->context, values, n, at / wide * width + x - left, width);
    }
    for (size_t k = 0, now; k < n; k += now) {
        const size_t x = (at + k) % wide;

        now = n - k < wide - x ? n - k : wide - x;
        MF_TRY(take_row(p, (const char *)values + k * p->array->size, now, (at + k) / wide, x));
    }
    return MF_OK;
}

int mf_crop_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context)
{
    struct part p = {array, take, context};
    struct mf_array whole = *array;

    whole.cropped = 0;
    for (int d = 0; d < 2; ++d) whole.shape[d] = array->whole[d];
    return mf_array_visit(&whole, array->corner[0] + first, count, take_part, &p);
}

void mf_crop_json(const size_t crop[4], struct mf_json *at)
{
    struct mf_json *values;

    if (!crop[2]) return;
    values = mf_json_array();
    for (int i = 0; i < 4; ++i) mf_json_int(values, NULL, (long long)crop[i]);
    mf_json_put(at, "crop", values);
}
