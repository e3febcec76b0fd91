/* See bar.h. */
#include "io/bar.h"

#include <math.h>
#include <stdlib.h>

#include "io/notes.h"
#include "src/base/err.h"

enum {
    NEAR = 3,        /* levels this far apart count as one: JPEG changes some */
    JUMP = 24,       /* neighbours that differ by more levels make a jump; noise hardly does */
    BLURRED = 3,     /* a border spreads over so many rows */
    LINE_MOST = 4,   /* a line has at most so many rows */
    BAR_LEAST = 6,   /* a bar has at least so many rows */
    STROKES = 6,     /* three strokes make so many jumps */
    STROKES_TOP = 16 /* a bar at the top has eight strokes: a dark field with a few spots has fewer */
};

static const double PLAIN = 0.95;      /* the first and the last row of a bar have its grey value in this share */
static const double BEYOND = 0.8;      /* beyond a border, a row has it in less than this share */
static const double LETTERED = 0.3;    /* a row with text has it in at least this share */
static const double INK_LEAST = 0.002; /* text fills at least this share of a bar */
static const double BARS_MOST = 0.25;  /* bars fill at most this share of an image */

/* Rows from one edge of the image, the first at the edge. */
struct rows {
    const struct mf_bar_row *first;
    ptrdiff_t step;
    size_t count;
    double columns;
};

static const struct mf_bar_row *row_of(const struct rows *r, size_t i) { return r->first + (ptrdiff_t)i * r->step; }

static double share_of(const struct rows *r, size_t i) { return (double)row_of(r, i)->near / r->columns; }

/* The share of a grey level where it is the most frequent one, else 0. */
static double share_at(const struct rows *r, size_t i, int64_t level)
{
    return llabs(row_of(r, i)->level - level) <= NEAR ? share_of(r, i) : 0;
}

/* Is row @p i the last one of its strip: plain beside rows that are not, or beside a line? */
static int is_border(const struct rows *r, size_t i, int64_t level)
{
    const double share = share_at(r, i, level);

    if (share >= LETTERED && i + 1 < r->count && share_of(r, i + 1) >= PLAIN && share_at(r, i + 1, level) < PLAIN)
        return 1;
    for (size_t k = i + 1; share >= PLAIN && k <= i + BLURRED && k < r->count; ++k)
        if (share_at(r, k, level) < BEYOND) return 1;
    return 0;
}

/* Returns the rows from row @p from on that mostly have its grey value, lines apart, up to their last border; 0: none.
 * Sets *open if they go on to the other edge. */
static size_t strip_of(const struct rows *r, size_t from, int *open)
{
    const int64_t level = row_of(r, from)->level;
    size_t i = from, last = from, count = 0;

    *open = 0;
    if (share_of(r, from) < PLAIN) return 0;
    for (; i < r->count && i <= last + LINE_MOST; ++i) {
        if (share_at(r, i, level) >= LETTERED) last = i;
        if (is_border(r, i, level)) count = i + 1 - from;
    }
    *open = i == r->count && count == 0;
    return count;
}

static int has_text(const struct rows *r, size_t from, size_t count)
{
    const int64_t least = r->step < 0 ? STROKES : STROKES_TOP;
    double others = 0;
    int64_t jumps = 0;

    for (size_t i = from; i < from + count; ++i) {
        others += 1 - share_of(r, i);
        if (row_of(r, i)->jumps > jumps) jumps = row_of(r, i)->jumps;
    }
    return count >= BAR_LEAST && others >= INK_LEAST * (double)count && jumps >= least;
}

/* Rows of bars at this edge. Strips without text, and some odd rows at the edge, count where one with text follows.
 * Lines count also after it. Sets *fills if from the edge on text goes through to the other one. */
static size_t bars_of(const struct rows *r, int *fills)
{
    size_t cut = 0, at = 0;

    while (at < r->count) {
        int open;
        const size_t n = strip_of(r, at, &open);

        if (open) *fills |= has_text(r, at, r->count - at);
        if (open || (n == 0 && at >= LINE_MOST)) break;
        if (n > 0 && (has_text(r, at, n) || (at > 0 && at == cut && n <= LINE_MOST))) cut = at + n;
        at += n > 0 ? n : 1;
    }
    return cut;
}

enum mf_bar mf_bar_find(const struct mf_bar_row *row, size_t rows, size_t columns, struct mf_span *kept)
{
    const struct rows up = {row + rows - 1, -1, rows, (double)columns};
    struct rows down = {row, 1, rows, (double)columns};
    int fills = 0;
    size_t bottom, top;

    bottom = bars_of(&up, &fills);
    down.count -= bottom;
    top = bars_of(&down, &fills);
    *kept = (struct mf_span){top, rows - bottom - top};
    if (kept->count == rows) return fills ? MF_BAR_ALL : MF_BAR_NONE;
    return (double)kept->count < (1 - BARS_MOST) * (double)rows ? MF_BAR_ALL : MF_BAR_FOUND;
}

/* The levels of this rank's rows. */
struct look {
    const struct mf_array *array;
    double low, step;          /* of levels */
    const struct mf_scan *few; /* labels: spread over the levels; NULL: grey values */
    uint32_t *count;           /* [rows][MF_BAR_LEVELS] */
    int *last;                 /* [rows] the level before; -1: none */
    struct mf_bar_row *row;
};

static int label_level(const struct mf_scan *few, double value)
{
    int64_t at = 0;

    while (at < few->distinct - 1 && (double)few->value[at] < value) ++at;
    return (int)(at * (MF_BAR_LEVELS - 1) / (few->distinct - 1));
}

static int level_of(const struct look *l, double value)
{
    const double level = floor((value - l->low) / l->step);

    if (!isfinite(value)) return -1;
    if (l->few) return label_level(l->few, value);
    return level < 0 ? 0 : level >= MF_BAR_LEVELS ? MF_BAR_LEVELS - 1 : (int)level;
}

/* Values of a row come from left to right, also where columns do. */
static int take(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    enum { SOME = 512 };
    struct look *l = context;
    double some[SOME];

    for (size_t k = 0; k < n; k += SOME) {
        const size_t now = n - k < SOME ? n - k : SOME;

        mf_array_reals(l->array, (const char *)values + k * l->array->size, now, some);
        for (size_t i = 0; i < now; ++i) {
            const size_t y = (at + (k + i) * stride) / l->array->shape[1];
            const int level = level_of(l, some[i]);

            if (level >= 0) ++l->count[y * MF_BAR_LEVELS + (size_t)level];
            if (level >= 0 && l->last[y] >= 0) l->row[y].jumps += abs(level - l->last[y]) > JUMP;
            l->last[y] = level;
        }
    }
    return MF_OK;
}

static void sum_up(const uint32_t count[MF_BAR_LEVELS], struct mf_bar_row *row)
{
    for (int v = 1; v < MF_BAR_LEVELS; ++v)
        if (count[v] > count[row->level]) row->level = v;
    for (int64_t v = row->level - NEAR; v <= row->level + NEAR; ++v)
        if (v >= 0 && v < MF_BAR_LEVELS) row->near += count[v];
}

/* Local: rows [first, first + count), to their places in @p row. */
static int look_at(struct look *l, struct mf_span rows, struct mf_bar_row *row)
{
    int rc;

    l->row = row + rows.first;
    l->count = calloc(rows.count * MF_BAR_LEVELS + 1, sizeof *l->count);
    l->last = malloc(rows.count * sizeof *l->last + 1);
    for (size_t y = 0; l->last && y < rows.count; ++y) l->last[y] = -1;
    rc = l->count && l->last ? mf_array_visit(l->array, rows.first, rows.count, take, l)
                             : mf_fail(MF_MEMORY, "no memory for the rows of '%s'", l->array->path);
    for (size_t y = 0; rc == MF_OK && y < rows.count; ++y) sum_up(l->count + y * MF_BAR_LEVELS, &l->row[y]);
    free(l->count);
    free(l->last);
    return rc;
}

/* From which value on, and in which steps, levels are counted. A byte has as many values. Labels may differ by 1. */
static void find_levels(const struct mf_scan *scan, struct look *l)
{
    if (!scan->fractions && scan->distinct > 1 && scan->distinct <= MF_PHASES_MAX) l->few = scan;
    l->low = l->array->kind == 'i' ? -128 : 0;
    l->step = 1;
    if (l->array->size == 1) return;
    l->low = scan->low;
    l->step = (scan->high - scan->low) / MF_BAR_LEVELS;
    if (!(l->step > 0) || !isfinite(l->step)) l->step = 1;
}

int mf_bar_look(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan *known,
                enum mf_bar *found, struct mf_span *kept)
{
    const size_t rows = array->shape[0];
    struct mf_array any = *array;
    struct look l = {.array = &any};
    struct mf_bar_row *row;
    struct mf_scan scan;
    int rc;

    any.colours = 1; /* of a bar, not of the picture */
    if (!known) MF_TRY(mf_scan(comm, &any, NULL, &scan));
    find_levels(known ? known : &scan, &l);
    row = calloc(rows, sizeof *row);
    rc = row ? look_at(&l, mf_cut(rows, (size_t)comm->size, (size_t)comm->rank), row)
             : mf_fail(MF_MEMORY, "no memory for the rows of '%s'", array->path);
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) {
        mf_comm_sum_int(comm, rows * (sizeof *row / sizeof(int64_t)), (int64_t *)row);
        *found = mf_bar_find(row, rows, array->shape[1], kept);
    }
    free(row);
    return rc;
}

/* ---- sentences, --crop-bar ---- */

void mf_bar_text(const struct mf_array *a, struct mf_span kept, char text[MF_BAR_TEXT])
{
    const size_t top = kept.first, bottom = a->shape[0] - kept.first - kept.count;

    if (top && bottom)
        snprintf(text, MF_BAR_TEXT, "its first %zu and its last %zu rows look like data bars", top, bottom);
    else
        snprintf(text, MF_BAR_TEXT, "its %s %zu rows look like a data bar", top ? "first" : "last", top + bottom);
}

/* The summary line of many files has no numbers of one. */
static void say_cut(const struct mf_array *a, struct mf_span kept)
{
    char bar[MF_BAR_TEXT], text[MF_BAR_TEXT + 120];

    mf_bar_text(a, kept, bar);
    snprintf(text, sizeof text, "%s and are cut off (the same: --crop %zu 0 %zu %zu)", bar, kept.first, kept.count,
             a->shape[1]);
    mf_note(a->path, 0, mf_notes_gathered() ? "its data bar is cut off" : text);
}

int mf_bar_crop(const struct mf_comm *comm, const struct mf_array *a, struct mf_crop *crop)
{
    struct mf_span kept;
    enum mf_bar found;

    if (a->ndim != 2)
        return mf_fail(MF_INPUT, "'%s' has %d axes, and --crop-bar looks for the data bar of an image, which has two",
                       a->path, a->ndim);
    MF_TRY(mf_bar_look(comm, a, NULL, &found, &kept));
    if (found == MF_BAR_ALL)
        return mf_fail(MF_INPUT,
                       "'%s': what looks like a data bar fills more than a quarter of its %zu rows; try: --crop Y X "
                       "HEIGHT WIDTH",
                       a->path, a->shape[0]);
    if (found == MF_BAR_NONE)
        return mf_fail(MF_INPUT,
                       "'%s' has no data bar at its bottom or top (rows over the whole width, of one grey value, with "
                       "text); leave --crop-bar out, or give --crop Y X HEIGHT WIDTH",
                       a->path);
    *crop = (struct mf_crop){{kept.first, 0}, {kept.count, a->shape[1]}, {0}};
    say_cut(a, kept);
    return MF_OK;
}
