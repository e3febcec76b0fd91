/* See view_values.h. */
#include "src/cmd/view_values.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/panels.h"

/* Most values of a plane that is drawn. */
static const size_t values_max = (size_t)1 << 28;

enum {
    PLANES = 3 * MF_PANELS_PARTS > MF_PANELS_PARTS *MF_PANELS_LEVELS ? 3 * MF_PANELS_PARTS
                                                                     : MF_PANELS_PARTS *MF_PANELS_LEVELS
};

/* Values [n0][n1][n2][fields]: the middle planes normal to each axis of every field (of an image the one plane normal
 * to z), or all planes normal to z of which each is a window. */
struct planes {
    const struct mf_array *array;
    size_t n[3], fields;
    size_t parts, levels;  /* windows [parts][levels]; 0: there are none */
    double *plane[PLANES]; /* [field][normal], or [part][level] of those drawn; NULL: not drawn */
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t rows_of(const struct planes *p, int normal) { return p->n[normal == 0 ? 1 : 0]; }

static size_t columns_of(const struct planes *p, int normal) { return p->n[normal == 2 ? 1 : 2]; }

static int is_volume(const struct planes *p) { return p->n[0] > 1; }

static void pick_window(struct planes *p, size_t z, size_t y, size_t x, double value)
{
    const size_t part = z / p->levels, level = z % p->levels;

    if (part < MF_PANELS_PARTS && level < MF_PANELS_LEVELS)
        p->plane[part * MF_PANELS_LEVELS + level][y * p->n[2] + x] = value;
}

static void pick_middle(struct planes *p, size_t f, size_t z, size_t y, size_t x, double value)
{
    double *const *plane = p->plane + 3 * f;

    if (f >= MF_PANELS_PARTS) return;
    if (z == p->n[0] / 2) plane[0][y * p->n[2] + x] = value;
    if (plane[1] && y == p->n[1] / 2) plane[1][z * p->n[2] + x] = value;
    if (plane[2] && x == p->n[2] / 2) plane[2][z * p->n[1] + y] = value;
}

/* mf_array_take(): values on their way through the file; what lies in a plane stays. */
static int pick(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct planes *p = context;
    double some[512];

    for (size_t k = 0; k < n; k += 512) {
        const size_t now = least(n - k, 512);

        mf_array_reals(p->array, (const char *)values + k * p->array->size, now, some);
        for (size_t i = 0; i < now; ++i) {
            const size_t e = at + (k + i) * stride, f = e % p->fields, v = e / p->fields;
            const size_t x = v % p->n[2], y = v / p->n[2] % p->n[1], z = v / p->n[2] / p->n[1];

            if (p->levels)
                pick_window(p, z, y, x, some[i]);
            else
                pick_middle(p, f, z, y, x, some[i]);
        }
    }
    return MF_OK;
}

static int take(const struct mf_session *s, const char *file, struct planes *p, size_t i, int normal)
{
    const size_t rows = rows_of(p, normal), columns = columns_of(p, normal);

    if (columns > values_max / rows)
        return mf_fail(MF_INPUT, "'%s' is too large to be drawn: %zu x %zu values in a plane", file, rows, columns);
    p->plane[i] = mf_arena_take(s->arena, rows * columns * sizeof(double), "values drawn");
    return p->plane[i] ? MF_OK : MF_MEMORY;
}

static int take_all(const struct mf_session *s, const char *file, struct planes *p)
{
    for (size_t part = 0; part < least(p->parts, MF_PANELS_PARTS); ++part)
        for (size_t l = 0; l < least(p->levels, MF_PANELS_LEVELS); ++l)
            MF_TRY(take(s, file, p, part * MF_PANELS_LEVELS + l, 0));
    for (size_t f = 0; p->levels == 0 && f < least(p->fields, MF_PANELS_PARTS); ++f)
        for (int normal = 0; normal < (is_volume(p) ? 3 : 1); ++normal)
            MF_TRY(take(s, file, p, 3 * f + (size_t)normal, normal));
    return MF_OK;
}

static void draw_middle(struct mf_figure *figure, const struct planes *p, size_t f, int normal)
{
    static const char *const axes[3][2] = {{"y", "x"}, {"z", "x"}, {"z", "y"}};
    const struct mf_frame frame = {axes[normal][0], axes[normal][1], "", {1, 1}};
    const char *title = "Values", *phase = p->fields > 1 ? mf_figure_text(figure, "phase %zu", f) : NULL;

    if (is_volume(p)) title = mf_figure_text(figure, "Slice %c = %zu", "zyx"[normal], p -> n[normal] / 2);
    if (phase) title = is_volume(p) ? mf_figure_text(figure, "%s, %s", title, phase) : phase;
    mf_figure_values(figure, title, &frame, rows_of(p, normal), columns_of(p, normal),
                     p->plane[3 * f + (size_t)normal]);
}

static void draw_window(struct mf_figure *figure, const struct planes *p, size_t part, size_t level)
{
    const struct mf_frame frame = {"row", "column", "", {1, 1}};

    mf_figure_values(figure, mf_figure_text(figure, "Part %zu, level %zu", part, level), &frame, p->n[1], p->n[2],
                     p->plane[part * MF_PANELS_LEVELS + level]);
}

static void draw_all(struct mf_figure *figure, const struct planes *p)
{
    const size_t parts = least(p->levels ? p->parts : p->fields, MF_PANELS_PARTS);
    const size_t levels = least(p->levels, MF_PANELS_LEVELS), each = is_volume(p) ? 3 : 1;

    figure->columns = p->levels ? levels : each;
    for (size_t i = 0; i < parts; ++i) {
        for (size_t l = 0; l < levels; ++l) draw_window(figure, p, i, l);
        for (int normal = 0; p->levels == 0 && normal < (int)each; ++normal) draw_middle(figure, p, i, normal);
    }
    figure->left = p->levels ? p->parts * p->levels - parts * levels : (p->fields - parts) * each;
    if (figure->left)
        mf_info("%zu more panel%s left out: drawn are %d phases or pairs of them, %d levels", figure->left,
                figure->left == 1 ? " is" : "s are", MF_PANELS_PARTS, MF_PANELS_LEVELS);
}

/* What the axes are. Windows are as wide as high, and behind phases and levels; fields have a phase for every value. */
static int shape(const char *file, const struct mf_array *a, struct planes *p)
{
    int n = a->ndim;

    while (n > 2 && a->shape[n - 1] == 1) --n;
    if (n == 4 && a->shape[2] == a->shape[3] && a->shape[0] <= MF_PHASES_MAX * MF_PHASES_MAX &&
        a->shape[1] <= MF_LEVELS_MAX) {
        p->parts = a->shape[0];
        p->levels = a->shape[1];
        p->n[0] = p->parts * p->levels;
        p->n[1] = p->n[2] = a->shape[2];
        return MF_OK;
    }
    if (n == 4 && a->shape[3] <= MF_PHASES_MAX) {
        p->fields = a->shape[3];
        --n;
    }
    if (n != 2 && n != 3)
        return mf_fail(MF_INPUT,
                       "cannot draw '%s': it has %d axes; wanted are 2, 3 or, of fields, [z][y][x][phase] and, of "
                       "descriptors, [phase][level][n][n]",
                       file, a->ndim);
    memcpy(p->n + (n == 2), a->shape, (size_t)n * sizeof *a->shape);
    return MF_OK;
}

int mf_view_values(const struct mf_session *session, const char *file, const struct mf_array *array,
                   struct mf_figure *figure)
{
    struct planes p = {.array = array, .n = {1, 1, 1}, .fields = 1};
    int rc = shape(file, array, &p);

    if (rc == MF_OK) rc = take_all(session, file, &p);
    if (rc == MF_OK) rc = mf_array_visit(array, 0, array->shape[0], pick, &p);
    if (rc == MF_OK) draw_all(figure, &p);
    for (size_t i = 0; i < PLANES; ++i) mf_arena_give(session->arena, p.plane[i]);
    return rc;
}
