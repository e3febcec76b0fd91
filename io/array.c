/* See array.h. */
#include "io/array.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/crop.h"
#include "io/dataset_priv.h"
#include "io/decode.h"
#include "io/dream3d.h"
#include "io/fields.h"
#include "io/foreign.h"
#include "io/guard.h"
#include "io/h5.h"
#include "io/image.h"
#include "io/lent.h"
#include "io/notes.h"
#include "io/npy.h"
#include "io/nrrd.h"
#include "io/recognise.h"
#include "io/seal.h"
#include "io/target.h"
#include "io/vtk.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/guest.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/base/utf8.h"

enum { PIECE = 1 << 19, UNPACK_MAX = 2048 };

/* From this length on a file must be on the disk, not a hole. */
#define HOLLOW ((uint64_t)1 << 40)

static int recognise(const char *path, int file, enum mf_format *format)
{
    MF_TRY(mf_recognise(file, path, format));
    return *format == MF_NO_FORMAT ? mf_refuse_unknown(file, path) : MF_OK;
}

/* Is the file sparse, with a length far above its disk blocks? Reading such a file to its end (for a checksum) would
 * take too long. */
static int is_hollow(const struct stat *info)
{
    const uint64_t there = (uint64_t)info->st_blocks * 512, bytes = (uint64_t)info->st_size;

    return there > 0 && bytes > HOLLOW && there < bytes / 1024; /* 0: a file system that does not say */
}

static int refuse_folder(const char *path)
{
    static const char *const zarr[] = {".zarray", ".zgroup", "zarr.json"};

    for (int i = 0; i < 3; ++i) {
        char *mark = mf_format("%s/%s", path, zarr[i]);
        const int is = access(mark, F_OK) == 0;

        free(mark);
        if (is)
            return mf_fail(MF_INPUT,
                           "'%s' is a folder of Zarr, which is not read here; save one array of it with numpy.save",
                           path);
    }
    return mf_fail(MF_INPUT, "'%s' is a folder; give files (a stack of images: one TIFF)", path);
}

/* In a library '@' begins the name of a field, too. */
static int refuse_missing(const char *path)
{
    if (errno == ENOENT && *path == '@' && mf_is_guest())
        return mf_fail(MF_INPUT, "cannot open '%s': the session has no such field, and there is no such file", path);
    return mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
}

static int look(struct mf_array *a)
{
    struct stat info;
    int descriptor, rc;

    if (mf_lent_open(a)) return MF_OK;
    if (a->lent) return mf_fail(MF_INPUT, "'%s' is a target, but an image or a volume is needed", a->path);
    if (mf_fault("io.open")) return mf_fail(MF_INPUT, "cannot open '%s': injected fault", a->path);
    if (stat(a->path, &info) != 0) return refuse_missing(a->path);
    if (S_ISDIR(info.st_mode)) return refuse_folder(a->path);
    if (!S_ISREG(info.st_mode)) return mf_fail(MF_INPUT, "'%s' is not a plain file", a->path);
    if (info.st_size == 0) return mf_fail(MF_INPUT, "'%s' is empty", a->path);
    if (is_hollow(&info))
        return mf_fail(MF_INPUT, "'%s' is damaged: %lld bytes long, of which hardly any are on the disk", a->path,
                       (long long)info.st_size);
    a->bytes = (size_t)info.st_size;
    descriptor = mf_open(a->path, O_RDONLY);
    if (descriptor < 0) return mf_fail(MF_INPUT, "cannot open '%s': %s", a->path, strerror(errno));
    rc = mf_seal_explain(recognise(a->path, descriptor, &a->format), a->path);
    close(descriptor);
    return rc;
}

/* Reads the attributes of this program's own volumes. */
static int inspect_own(struct mf_h5 *file, struct mf_array *a)
{
    const char *d = MF_MICRO_DATASET;
    size_t labels = 0, axes = 0, names = 0;

    MF_TRY(mf_h5_get_ints(file, d, "labels", MF_PHASES_MAX, a->label, &labels));
    MF_TRY(mf_h5_get_reals(file, d, "spacing", 3, a->spacing, &axes));
    MF_TRY(mf_h5_get_text(file, d, "unit", a->unit, sizeof a->unit));
    if (mf_h5_has_attribute(file, d, "phase_names"))
        MF_TRY(mf_h5_get_texts(file, d, "phase_names", MF_PHASES_MAX, MF_NAME_TEXT, a->name[0], &names));
    if (labels < 1 || axes != (size_t)a->ndim || (names && names != labels))
        return mf_fail(MF_INPUT, "'%s' is damaged: labels, names or spacing of its volume do not fit", a->path);
    if (axes == 2) {
        a->spacing[2] = a->spacing[1];
        a->spacing[1] = a->spacing[0];
        a->spacing[0] = 1;
    }
    a->phases = (int)labels;
    a->own = a->scaled = 1;
    return MF_OK;
}

/* [z][y][x][1], or one plane of it. */
static void set_cells(struct mf_array *a)
{
    a->ndim = a->shape[0] == 1 ? 2 : 3;
    if (a->ndim == 3) return;
    memmove(a->shape, a->shape + 1, 2 * sizeof a->shape[0]);
    a->lead = 1;
    a->spacing[0] = 1; /* of an axis that is none */
}

/* Files that hold something else. */
static int refuse_others(struct mf_h5 *file, const char *path)
{
    char schema[MF_NAME_TEXT] = "";

    if (mf_h5_has_attribute(file, "/", "schema") && mf_h5_get_text(file, "/", "schema", schema, sizeof schema) != MF_OK)
        mf_err_clear();
    if (strcmp(schema, MF_SCHEMA_TARGET) == 0)
        return mf_fail(MF_INPUT,
                       "'%s' holds descriptors, but a microstructure is needed; "
                       "try: mesoforge reconstruct --descriptor_filename %s",
                       path, path);
    if (strcmp(schema, MF_SCHEMA_DATASET) == 0 || (!*schema && mf_h5_has(file, MF_SET_X)))
        return mf_fail(MF_INPUT, "'%s' is a dataset of samples, but a microstructure is needed; try: mesoforge info %s",
                       path, path);
    if (!*schema || strcmp(schema, MF_SCHEMA_FIELDS) == 0) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is not a volume of mesoforge: it has no %s; name an array as FILE:ARRAY, "
                   "mesoforge info lists them",
                   path, MF_MICRO_DATASET);
}

/* Nobody named an array. */
static int choose(struct mf_h5 *file, struct mf_array *a)
{
    a->own = mf_h5_has(file, MF_MICRO_DATASET);
    if (a->own) return MF_OK;
    MF_TRY(refuse_others(file, a->path));
    return mf_foreign_choose(file, a);
}

static int inspect_open(struct mf_h5 *file, struct mf_array *a)
{
    struct mf_h5_shape s;

    if (!mf_h5_has(file, MF_MICRO_DATASET) && mf_dream3d_is(file)) MF_TRY(mf_dream3d_inspect(file, a));
    if (!a->dataset[0]) MF_TRY(choose(file, a));
    a->own |= strcmp(a->dataset, MF_MICRO_DATASET) == 0;
    if (a->own) snprintf(a->dataset, sizeof a->dataset, "%s", MF_MICRO_DATASET);
    MF_TRY(mf_h5_shape(file, a->dataset, &s));
    a->kind = s.kind;
    a->size = s.size;
    a->ndim = s.ndim;
    memcpy(a->shape, s.dims, sizeof a->shape);
    a->coding = s.offset ? MF_PLAIN : MF_LIBRARY;
    a->offset = s.offset;
    a->swap = s.swap;
    a->matlab = mf_h5_has_attribute(file, a->dataset, "MATLAB_class");
    if (a->cells) set_cells(a);
    if (!a->own && !a->cells) MF_TRY(mf_foreign_scale(file, a));
    return a->own ? inspect_own(file, a) : MF_OK;
}

static int inspect_h5(struct mf_array *a)
{
    struct mf_h5 *file;
    int rc;

    MF_TRY(mf_h5_open(a->path, &file));
    a->ours = mf_h5_is_ours(file);
    rc = mf_h5_unread(file, inspect_open(file, a));
    (void)mf_h5_close(file);
    return rc;
}

static int inspect_there(void *context, FILE *to)
{
    struct mf_array *a = context;

    if (a->format == MF_PNG || a->format == MF_TIFF) a->coding = MF_LIBRARY;
    if (a->format == MF_PNG) MF_TRY(mf_png_inspect(a));
    if (a->format == MF_TIFF) MF_TRY(mf_tiff_inspect(a));
    if (a->format == MF_HDF5) MF_TRY(inspect_h5(a));
    if (a->format == MF_NRRD) MF_TRY(mf_nrrd_inspect(a));
    if (a->format == MF_VTK) MF_TRY(mf_vtk_inspect(a));
    return mf_guard_send(to, a, sizeof *a);
}

static int inspect_here(void *context, FILE *from) { return mf_guard_receive(from, context, sizeof(struct mf_array)); }

/* Extents must multiply and none may be 0, whoever says so. */
static int check_shape(const struct mf_array *a)
{
    size_t bytes = a->size;

    if (a->ndim < 0 || a->ndim > MF_ARRAY_DIMS) return mf_fail(MF_INPUT, "'%s' has %d axes", a->path, a->ndim);
    for (int i = 0; i < a->ndim; ++i) {
        if (a->shape[i] == 0) return mf_fail(MF_INPUT, "'%s' is empty: axis %d has no extent", a->path, i);
        if (__builtin_mul_overflow(bytes, a->shape[i], &bytes) || bytes > PTRDIFF_MAX)
            return mf_fail(MF_INPUT, "'%s' claims more values than can be counted", a->path);
    }
    return MF_OK;
}

static int labels_differ(const struct mf_array *a)
{
    for (int p = 0; p < a->phases; ++p)
        for (int q = 0; q < p; ++q)
            if (a->label[p] == a->label[q]) return 0;
    return 1;
}

/* A volume of ours may have been written by anybody. */
static int check_own(struct mf_array *a)
{
    if (a->phases < 1 || a->phases > MF_PHASES_MAX || !labels_differ(a))
        return mf_fail(MF_INPUT, "'%s' is damaged: unusable labels of its volume", a->path);
    for (int p = 0; p < a->phases; ++p) mf_guard_sanitise(a->name[p], sizeof a->name[p]);
    return MF_OK;
}

/* Older programs write Latin-1, whose bytes are the first characters of Unicode; here all text is UTF-8. */
static void as_utf8(char unit[MF_UNIT_TEXT])
{
    char latin[MF_UNIT_TEXT];
    size_t n = 0;

    if (!mf_utf8_wrong(unit)) return;
    memcpy(latin, unit, MF_UNIT_TEXT);
    for (const unsigned char *at = (const unsigned char *)latin; *at && n + 2 < MF_UNIT_TEXT; ++at) {
        if (*at >= 0x80) unit[n++] = (char)(0xc0 | *at >> 6);
        unit[n++] = (char)(*at >= 0x80 ? 0x80 | (*at & 0x3f) : *at);
    }
    unit[n] = '\0';
}

/* A volume of ours has a spacing; of other files --spacing replaces what cannot be one. */
static int check_scale(struct mf_array *a)
{
    mf_guard_sanitise(a->unit, sizeof a->unit);
    as_utf8(a->unit);
    mf_guard_sanitise(a->unscaled, sizeof a->unscaled);
    for (int i = 0; i < 3 && a->ndim > 1 && !*a->unscaled; ++i) {
        if (a->spacing[i] > 0 && isfinite(a->spacing[i])) continue;
        if (a->own)
            return mf_fail(MF_INPUT, "'%s' is damaged: the spacing of its volume holds %g", a->path, a->spacing[i]);
        snprintf(a->unscaled, sizeof a->unscaled, "its spacing along %c is %g; it must be above 0", "zyx"[i],
                 a -> spacing[i]);
    }
    return MF_OK;
}

/* Plain values are stored in the file. Compressed values may be several times as long as the file (deflate reaches
 * about 1030). */
static int check_claim(const struct mf_array *a)
{
    const size_t bytes = a->shape[0] * mf_array_row(a) * a->size;

    if (a->coding == MF_PLAIN && a->offset <= a->bytes && bytes <= a->bytes - a->offset) return MF_OK;
    if (a->coding != MF_PLAIN && bytes / UNPACK_MAX <= a->bytes) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is damaged: %zu bytes of values in a file of %zu", a->path, bytes, a->bytes);
}

static int inspect_any(struct mf_array *a)
{
    if (a->format == MF_NPY && !a->lent)
        MF_TRY(mf_npy_inspect(a));
    else if (!a->lent)
        MF_TRY(mf_guard(a->path, MF_GUARD_DECODING(a->bytes), inspect_there, inspect_here, a));
    MF_TRY(check_shape(a));
    MF_TRY(check_claim(a));
    if (a->scaled) MF_TRY(check_scale(a));
    return a->own ? check_own(a) : MF_OK;
}

/* Once it is known what it is. */
static int inspect(struct mf_array *a) { return mf_seal_explain(inspect_any(a), a->path); }

int mf_array_open(const char *path, const char *dataset, struct mf_array *array)
{
    struct mf_array a = {.path = path};

    if (dataset && snprintf(a.dataset, sizeof a.dataset, "/%s", dataset + (dataset[0] == '/')) >= MF_DATASET_TEXT)
        return mf_fail(MF_INPUT, "the name of the dataset is longer than %d characters", MF_DATASET_TEXT - 2);
    MF_TRY(look(&a));
    if (dataset && a.format != MF_HDF5 && a.format != MF_VTK)
        return mf_fail(
            MF_USAGE,
            "'%s' holds one array without a name, and '%s' is asked for; HDF5, DREAM.3D and VTK files name theirs",
            path, dataset);
    MF_TRY(inspect(&a));
    *array = a;
    return MF_OK;
}

/* Places that a file says to be places stay, and so do those of a picture. */
static int has_named_axes(const struct mf_array *a)
{
    return a->own || a->cells || a->axes != MF_AXES_UNSAID || a->format == MF_PNG || a->format == MF_TIFF;
}

void mf_array_squeeze(struct mf_array *a)
{
    const int axes = a->ndim;
    double spacing[4] = {1};
    int kept = 0;

    if (axes < 3 || has_named_axes(a)) return;
    for (int i = 0; i < axes; ++i) {
        if (a->shape[i] == 1 && a->ndim > 2) {
            a->lead += kept == 0;
            --a->ndim;
            continue;
        }
        if (axes == 3) spacing[1 + kept] = a->spacing[i];
        a->shape[kept++] = a->shape[i];
    }
    if (axes == 3 && kept == 2) memcpy(a->spacing, spacing, sizeof a->spacing);
    if (kept == 2) a->spacing[0] = 1;
}

void mf_array_split(const char *given, char **file, const char **array)
{
    const char *colon = strchr(given, ':');
    struct stat is;

    *array = NULL;
    *file = MF_MUST(strdup(given), "a file name");
    if (stat(given, &is) == 0) return;
    for (; colon; colon = strchr(colon + 1, ':')) {
        (*file)[colon - given] = '\0';
        if (colon[1] && stat(*file, &is) == 0 && S_ISREG(is.st_mode)) {
            *array = colon + 1;
            return;
        }
        (*file)[colon - given] = ':';
    }
}

int mf_array_there(const char *given)
{
    struct mf_array a = {0};
    const char *array;
    char *file;
    int rc;

    mf_array_split(given, &file, &array);
    a.path = file;
    rc = look(&a);
    free(file);
    return rc;
}

int mf_array_may_sample(const char *path)
{
    struct mf_array a = {.path = path};

    MF_TRY(look(&a));
    if (a.format == MF_NPY || a.format == MF_PNG || a.format == MF_TIFF) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' is %s, and .npy, PNG or TIFF is needed here; try: numpy.save of an array of it",
                   path,
                   a.format == MF_HDF5   ? "HDF5"
                   : a.format == MF_NRRD ? "NRRD"
                                         : "VTK");
}

void mf_array_apart(const char *path, char data[MF_DATASET_TEXT])
{
    struct mf_array a = {.path = path};

    data[0] = '\0';
    if (look(&a) == MF_OK && a.format == MF_NRRD && mf_array_open(path, NULL, &a) == MF_OK)
        memcpy(data, a.data, MF_DATASET_TEXT);
    mf_err_clear();
}

void mf_array_say(const struct mf_array *array)
{
    static const char *const lines[] = {
        "its alpha channel is opaque everywhere and was left out",
        "it is white-is-zero, so its values were inverted: white is now the largest value",
        "smaller copies of its pages (thumbnails, pyramid levels) were left out",
        "its orientation tag asks to rotate or mirror it; its rows were read as stored",
        "its compression (JPEG, WebP or LERC) may have changed values near edges",
        "its palette was applied: values are grey levels, not the numbers that it stores",
        "its calibration (ImageJ, NetCDF) was left out: values are those that it stores",
        "its red, green and blue are equal everywhere and were read as one grey",
        "its pages are so few that they may be channels or views; they were read as planes along z",
        "its attribute IMAGE_WHITE_IS_ZERO was left out: values are those that it stores, and 0 is white",
        "its vtkGhostType marks values as hidden or doubled, which count unless masked; try: --mask FILE:vtkGhostType"};

    for (int i = 0; i < (int)(sizeof lines / sizeof *lines); ++i)
        if (array->said >> i & 1) mf_note(array->path, 1 << i != MF_SAID_GREY, lines[i]);
    if (array->only) {
        char text[MF_DATASET_TEXT + 40];

        snprintf(text, sizeof text, "its only array, %s, is taken", array->dataset);
        mf_note(array->path, 0, text);
    }
    if (array->matlab)
        mf_note(array->path, 1,
                array->ndim == 3 ? "it is from MATLAB, which stores the last index first: its A(i,j,k) is "
                                   "read as [k][j][i]"
                                 : "it is from MATLAB, which stores the last index first: its A(i,j) is "
                                   "read as [j][i]");
}

int mf_array_explain(const struct mf_array *array, int rc)
{
    struct mf_array known = *array;

    known.said &= ~(MF_SAID_ALPHA | MF_SAID_GREY);
    if (rc != MF_OK) mf_array_say(&known);
    return rc;
}

int mf_array_may_label(const struct mf_array *array)
{
    if (!(array->said & MF_SAID_LOSSY)) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s': its compression (JPEG, WebP or LERC) may have changed values, so they are no labels; try: "
                   "binarise it and save it with LZW (characterize, match: --threshold)",
                   array->path);
}

/* A visit through the guard. */
struct passage {
    const struct mf_array *array;
    size_t first, count;
    mf_array_take *take;
    void *context;
};

/* Rows in pieces of whole rows; a row longer than a piece is sent at once. */
static int send_h5(const struct passage *p, FILE *to)
{
    const struct mf_array *a = p->array;
    const struct mf_h5_shape shape = {.kind = a->stored ? a->stored : a->kind, .size = a->size, .lead = a->lead};
    size_t row = mf_array_row(a) * a->size, most = row < 16 * (size_t)PIECE ? 16 * (size_t)PIECE / row : 1;
    char *rows = malloc(row * (most < p->count ? most : p->count));
    struct mf_h5 *file;
    int rc = rows ? mf_h5_open(a->path, &file) : mf_fail(MF_MEMORY, "no memory to read '%s'", a->path);

    if (rc == MF_OK) {
        for (size_t i = 0; rc == MF_OK && i < p->count; i += most) {
            size_t n = p->count - i < most ? p->count - i : most;

            rc = mf_h5_read_native(file, a->dataset, &shape, p->first + i, n, rows);
            if (rc == MF_OK) rc = mf_guard_send(to, rows, n * row);
        }
        rc = mf_h5_unread(file, rc);
        (void)mf_h5_close(file);
    }
    free(rows);
    return rc;
}

static int visit_there(void *context, FILE *to)
{
    const struct passage *p = context;

    if (p->array->format == MF_PNG) return mf_png_send(p->array, p->first, p->count, to);
    if (p->array->format == MF_TIFF) return mf_tiff_send(p->array, p->first, p->count, to);
    if (p->array->format != MF_HDF5) return mf_decode_send(p->array, p->first, p->count, to);
    return send_h5(p, to);
}

static int visit_here(void *context, FILE *from)
{
    const struct passage *p = context;
    size_t n = p->count * mf_array_row(p->array), most = PIECE / p->array->size;
    char *piece = malloc(PIECE);
    int rc = piece ? MF_OK : mf_fail(MF_MEMORY, "no memory to read '%s'", p->array->path);

    for (size_t at = 0; rc == MF_OK && at < n; at += most) {
        size_t now = n - at < most ? n - at : most;

        rc = mf_guard_receive(from, piece, now * p->array->size);
        if (rc == MF_OK) rc = p->take(p->context, piece, now, at, 1);
    }
    free(piece);
    return rc;
}

int mf_array_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context)
{
    struct passage p = {array, first, count, take, context};
    double bytes = (double)mf_array_row(array) * (double)(first + count) * (double)array->size;

    if (array->cropped) return mf_crop_visit(array, first, count, take, context);
    if (mf_fault("io.read")) return mf_fail(MF_INPUT, "cannot read '%s': injected fault", array->path);
    if (count == 0) return MF_OK;
    if (array->lent) return mf_lent_visit(array, first, count, take, context);
    if (array->coding == MF_PLAIN) return mf_npy_visit(array, first, count, take, context);
    return mf_guard(array->path, MF_GUARD_DECODING(bytes), visit_there, visit_here, &p);
}

struct load {
    const struct mf_array *array;
    double *values;
};

static int load_values(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct load *l = context;
    double some[512];

    for (size_t k = 0; k < n; k += 512) {
        size_t now = n - k < 512 ? n - k : 512;

        mf_array_reals(l->array, (const char *)values + k * l->array->size, now, some);
        for (size_t i = 0; i < now; ++i) l->values[at + (k + i) * stride] = some[i];
    }
    return MF_OK;
}

int mf_array_load(const struct mf_array *array, size_t max, double **values)
{
    size_t rows = array->ndim ? array->shape[0] : 1, n = rows * mf_array_row(array);
    struct load l = {array, NULL};
    int rc;

    if (n > max)
        return mf_fail(MF_INPUT, "'%s' holds %zu values, more than the %zu that are possible here", array->path, n,
                       max);
    MF_TRY(MF_ROOM(l.values, n, "the %zu values of '%.300s'", n, array->path));
    rc = mf_array_visit(array, 0, rows, load_values, &l);
    if (rc == MF_OK)
        *values = l.values;
    else
        free(l.values);
    return rc;
}
