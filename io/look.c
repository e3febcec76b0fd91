/* See look.h. The child sends the struct, then its three texts and tables, each with its length. */
#include "io/look.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/dataset_priv.h"
#include "io/guard.h"
#include "io/h5_priv.h"
#include "io/recognise.h"
#include "io/seal.h"
#include "src/base/err.h"

enum { OPTIONS_MAX = 1 << 16, RESULTS_MAX = 1 << 24, ROWS_MAX = 1 << 24 };

int mf_look_is_h5(const char *path, int *is)
{
    enum mf_format format = MF_NO_FORMAT;
    struct stat there;
    int file, rc;

    *is = 0;
    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode)) return MF_OK; /* others say what is wrong with it */
    MF_TRY(mf_open_plain(path, O_RDONLY, &file));
    rc = mf_recognise(file, path, &format);
    (void)close(file);
    *is = format == MF_HDF5;
    return rc;
}

struct looker {
    const char *path;
    struct mf_look *look;
    struct mf_h5 *file;
};

/* ---- the child ---- */

struct walk {
    struct mf_h5 *file;
    void (*see)(void *context, const char *path, const struct mf_h5_shape *shape);
    void *context;
};

static herr_t step(hid_t id, const char *name, const H5O_info_t *info, void *context)
{
    const struct walk *w = context;
    char path[MF_LOOK_PATH];
    struct mf_h5_shape shape;

    (void)id;
    if (info->type != H5O_TYPE_DATASET) return 0;
    if (snprintf(path, sizeof path, "/%s", name) >= (int)sizeof path) path[0] = '\0';
    if (!path[0] || mf_h5_shape(w->file, path, &shape) != MF_OK) shape = (struct mf_h5_shape){0};
    w->see(w->context, path, &shape);
    return 0;
}

void mf_look_sets(struct mf_h5 *file, void (*see)(void *context, const char *path, const struct mf_h5_shape *shape),
                  void *context)
{
    struct walk w = {file, see, context};

    H5Ovisit2(file->id, H5_INDEX_NAME, H5_ITER_INC, step, &w, H5O_INFO_BASIC);
}

static void note_set(void *context, const char *path, const struct mf_h5_shape *shape)
{
    const struct looker *l = context;
    struct mf_look *look = l->look;
    struct mf_look_set *set = &look->set[look->set_count];
    const char *colon = strstr(mf_err_text(), "': "); /* behind the file's name */

    if (look->sets++ >= MF_LOOK_SETS || !path[0]) return;
    snprintf(set->path, sizeof set->path, "%s", path);
    set->shape = *shape;
    if (!shape->kind) snprintf(set->why, sizeof set->why, "%s", colon ? colon + 3 : mf_err_text());
    ++look->set_count;
}

/* A text attribute of the root; "" where there is none. */
static void get_text(struct mf_h5 *file, const char *name, char *text, size_t room)
{
    if (!mf_h5_has_attribute(file, "/", name) || mf_h5_get_text(file, "/", name, text, room) != MF_OK) text[0] = '\0';
}

static long get_long(struct mf_h5 *file, const char *name)
{
    int64_t value = 0;
    size_t count = 0;

    if (!mf_h5_has_attribute(file, "/", name)) return 0;
    return mf_h5_get_ints(file, "/", name, 1, &value, &count) == MF_OK && count == 1 ? (long)value : 0;
}

static void look_root(struct mf_h5 *file, struct mf_look *look)
{
    get_text(file, "schema", look->schema, sizeof look->schema);
    get_text(file, "creator", look->creator, sizeof look->creator);
    get_text(file, "created", look->created, sizeof look->created);
    get_text(file, "command", look->command, sizeof look->command);
    get_text(file, "input_sha256", look->hash, sizeof look->hash);
    look->version = get_long(file, "schema_version");
    look->seed = get_long(file, "seed");
    look->options = calloc(1, OPTIONS_MAX);
    if (look->options) get_text(file, "options", look->options, OPTIONS_MAX);
    if (mf_h5_has(file, "/results") && mf_h5_read_text(file, "/results", RESULTS_MAX, &look->results) != MF_OK)
        look->results = NULL;
}

static void look_convergence(struct mf_h5 *file, struct mf_look *look)
{
    struct mf_h5_shape s;

    if (!mf_h5_has(file, "/convergence") || mf_h5_shape(file, "/convergence", &s) != MF_OK) return;
    if (s.ndim != 2 || s.dims[1] != 3 || s.dims[0] < 1 || s.dims[0] > ROWS_MAX) return;
    look->convergence = malloc(s.dims[0] * 3 * sizeof(double));
    if (!look->convergence) return;
    if (mf_h5_read_rows(file, "/convergence", MF_H5_F64, 0, s.dims[0], look->convergence) == MF_OK)
        look->convergence_count = s.dims[0];
}

static int send_piece(FILE *to, const void *what, size_t bytes)
{
    MF_TRY(mf_guard_send(to, &bytes, sizeof bytes));
    return mf_guard_send(to, what, bytes);
}

static int send_all(FILE *to, const struct mf_look *look)
{
    MF_TRY(mf_guard_send(to, look, sizeof *look));
    MF_TRY(send_piece(to, look->options, look->options ? strlen(look->options) : 0));
    MF_TRY(send_piece(to, look->results, look->results ? strlen(look->results) : 0));
    return send_piece(to, look->convergence, look->convergence_count * 3 * sizeof(double));
}

static int work(void *context, FILE *to)
{
    struct looker *l = context;
    struct mf_look *look = l->look;
    int rc;

    MF_TRY(mf_h5_open(l->path, &l->file));
    look_root(l->file, look);
    look_convergence(l->file, look);
    mf_look_sets(l->file, note_set, l);
    rc = mf_h5_unread(l->file, MF_OK);
    (void)mf_h5_close(l->file);
    if (rc == MF_OK) rc = send_all(to, look);
    mf_look_free(look);
    return rc;
}

/* ---- this side ---- */

/* A piece of at most @p most bytes with a 0 behind it. */
static int receive_piece(FILE *from, size_t most, void **piece, size_t *bytes)
{
    MF_TRY(mf_guard_receive(from, bytes, sizeof *bytes));
    if (*bytes > most) return mf_fail(MF_INPUT, "a text in the file is too long");
    *piece = malloc(*bytes + 1);
    if (!*piece) return mf_fail(MF_MEMORY, "no memory for %zu bytes of a file", *bytes);
    ((char *)*piece)[*bytes] = '\0';
    return mf_guard_receive(from, *piece, *bytes);
}

static void end_texts(struct mf_look *look)
{
    mf_guard_sanitise(look->schema, sizeof look->schema);
    mf_guard_sanitise(look->creator, sizeof look->creator);
    mf_guard_sanitise(look->created, sizeof look->created);
    mf_guard_sanitise(look->command, sizeof look->command);
    mf_guard_sanitise(look->hash, sizeof look->hash);
    if (look->set_count > MF_LOOK_SETS) look->set_count = 0;
    for (size_t i = 0; i < look->set_count; ++i) {
        mf_guard_sanitise(look->set[i].path, MF_LOOK_PATH);
        mf_guard_sanitise(look->set[i].why, MF_LOOK_WHY);
        if (look->set[i].shape.ndim < 0 || look->set[i].shape.ndim > MF_H5_DIMS) look->set[i].shape.ndim = 0;
    }
}

static int take(void *context, FILE *from)
{
    struct looker *l = context;
    struct mf_look *look = l->look;
    void *piece = NULL;
    size_t bytes;

    MF_TRY(mf_guard_receive(from, look, sizeof *look));
    look->options = look->results = NULL;
    look->convergence = NULL;
    look->convergence_count = 0;
    end_texts(look);
    MF_TRY(receive_piece(from, OPTIONS_MAX, (void **)&look->options, &bytes));
    mf_guard_sanitise(look->options, bytes + 1);
    MF_TRY(receive_piece(from, RESULTS_MAX, (void **)&look->results, &bytes));
    if (bytes == 0) {
        free(look->results);
        look->results = NULL;
    }
    MF_TRY(receive_piece(from, (size_t)ROWS_MAX * 24, &piece, &bytes));
    look->convergence = piece;
    look->convergence_count = bytes / 24;
    for (size_t i = 0; i < 3 * look->convergence_count; ++i)
        if (!isfinite(look->convergence[i])) look->convergence_count = 0;
    return MF_OK;
}

int mf_look(const char *path, struct mf_look *look)
{
    struct mf_look *fresh = calloc(1, sizeof *fresh);
    struct looker l = {path, fresh, NULL};
    int rc = fresh ? mf_seal_explain(mf_guard(path, MF_GUARD_SECONDS, work, take, &l), path)
                   : mf_fail(MF_MEMORY, "no memory to look at '%s'", path);

    if (rc == MF_OK)
        *look = *fresh;
    else if (fresh)
        mf_look_free(fresh);
    free(fresh);
    return rc;
}

void mf_look_free(struct mf_look *look)
{
    free(look->options);
    free(look->results);
    free(look->convergence);
    look->options = look->results = NULL;
    look->convergence = NULL;
    look->convergence_count = 0;
}

int mf_look_is_dataset(const struct mf_look *look)
{
    if (*look->schema) return strcmp(look->schema, MF_SCHEMA_DATASET) == 0;
    for (size_t i = 0; i < look->set_count; ++i)
        if (strcmp(look->set[i].path, MF_SET_X) == 0) return 1;
    return 0;
}
