/* See masks.h. */
#include "src/cmd/files/masks.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/guard.h"
#include "io/h5.h"
#include "io/same_file.h"
#include "src/base/bounds.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/files/layers.h"

enum { LIST = 300 };

static size_t numbers(const struct mf_unet_tap *layer) { return layer->channels * layer->height * layer->width; }

/* -- what the file has -- */

struct finding {
    const char *path;
    size_t count;
    const struct mf_unet_tap *layer; /* [count] */
    struct mf_h5_shape *shape;       /* [count]; kind 0: it has none */
};

static int read_shapes(struct mf_h5 *h5, const struct finding *f, FILE *to)
{
    for (size_t k = 0; k < f->count; ++k) {
        struct mf_h5_shape shape = {0};
        char *name = mf_format("/activations/%s", f->layer[k].name);
        const int rc = mf_h5_has(h5, "/activations") && mf_h5_has(h5, name) ? mf_h5_shape(h5, name, &shape) : MF_OK;

        free(name);
        MF_TRY(rc);
        MF_TRY(mf_guard_send(to, &shape, sizeof shape));
    }
    return MF_OK;
}

/* In a child. */
static int work(void *context, FILE *to)
{
    const struct finding *f = context;
    struct mf_h5 *h5;
    int rc, end;

    MF_TRY(mf_h5_open(f->path, &h5));
    rc = mf_h5_unread(h5, read_shapes(h5, f, to));
    end = mf_h5_close(h5);
    return rc == MF_OK ? end : rc;
}

static int take(void *context, FILE *from)
{
    struct finding *f = context;

    return mf_guard_receive(from, f->shape, f->count * sizeof *f->shape);
}

/* Are the rows those of the layer, one for all samples or one for each? */
static int check_shape(const struct finding *f, size_t k, size_t samples)
{
    const struct mf_unet_tap *l = &f->layer[k];
    const struct mf_h5_shape *s = &f->shape[k];
    const int whole = s->ndim == 4 && s->dims[1] == l->channels && s->dims[2] == l->height && s->dims[3] == l->width;

    if (!whole && !(s->ndim == 2 && s->dims[1] == numbers(l)))
        return mf_fail(MF_INPUT,
                       "--mask '%.200s': /activations/%s must have the extents [rows][%zu][%zu][%zu], or [rows][%zu]",
                       f->path, l->name, l->channels, l->height, l->width, numbers(l));
    if (s->kind != 'f' || s->size != sizeof(float) || s->swap || !s->offset)
        return mf_fail(MF_INPUT, "--mask '%.200s': /activations/%s must be float32, not compressed and not in chunks",
                       f->path, l->name);
    if (s->dims[0] == 1 || s->dims[0] >= samples) return MF_OK;
    return mf_fail(MF_INPUT,
                   "--mask '%.200s': /activations/%s has %zu rows, and samples 0 to %zu want 1 or at least %zu",
                   f->path, l->name, s->dims[0], samples - 1, samples);
}

/* One layer has two names: both cannot be masks. */
static int check_twice(const struct finding *f)
{
    for (size_t k = 1; k < f->count; ++k)
        for (size_t i = 0; i < k; ++i)
            if (f->shape[i].kind && f->shape[k].kind && strcmp(f->layer[i].node, f->layer[k].node) == 0)
                return mf_fail(MF_USAGE, "--mask '%.200s': %s and %s are the same layer; try: --mask-layers %s",
                               f->path, f->layer[i].name, f->layer[k].name, f->layer[k].name);
    return MF_OK;
}

/* Keeps the layers that the file has. @p all: whether it must have each. */
static int keep(struct mf_masks *m, const struct finding *f, int all, size_t samples)
{
    for (size_t k = 0; k < f->count; ++k) {
        if (!f->shape[k].kind && !all) continue;
        if (!f->shape[k].kind)
            return mf_fail(MF_INPUT, "--mask '%.200s' has no /activations/%s", f->path, f->layer[k].name);
        MF_TRY(check_shape(f, k, samples));
        m->layer[m->count] = f->layer[k];
        m->rows[m->count] = f->shape[k].dims[0];
        m->place[m->count++] = f->shape[k].offset;
    }
    if (m->count > 0) return MF_OK;
    return mf_fail(
        MF_INPUT, "--mask '%.200s' has no activations of this network; generate --layers NAME,... makes some", f->path);
}

static int find(const struct mf_comm *comm, struct mf_masks *m, size_t count, int all, size_t samples)
{
    struct finding f = {m->path, count, m->layer, MF_MUST(calloc(count + 1, sizeof *f.shape), "masks")};
    int rc = mf_same_file(comm, m->path);

    if (rc == MF_OK) rc = mf_agree(comm, comm->rank == 0 ? mf_guard(m->path, MF_GUARD_SECONDS, work, take, &f) : MF_OK);
    if (rc == MF_OK) mf_comm_bcast(comm, 0, f.shape, count * sizeof *f.shape);
    if (rc == MF_OK) rc = check_twice(&f);
    if (rc == MF_OK) rc = keep(m, &f, all, samples);
    free(f.shape);
    return rc;
}

/* -- opening -- */

/* The layers that words name, or all. */
static int list(const struct mf_model_card *card, const struct mf_texts *words, struct mf_masks *m, size_t *count)
{
    if (words->count > 0) return mf_layers_find(card, "mask-layers", words, &m->layer, count);
    return mf_model_card_blame(card, mf_unet_taps(&card->args, card->dims[1], card->dims[2], &m->layer, count));
}

int mf_masks_open(const struct mf_comm *comm, const char *path, const struct mf_model_card *card,
                  const struct mf_texts *words, size_t samples, struct mf_masks *m)
{
    size_t count = 0, most = 0;

    *m = (struct mf_masks){.path = path, .file = -1};
    if (!path) return MF_OK;
    MF_TRY(mf_agree(comm, list(card, words, m, &count)));
    m->rows = MF_MUST(calloc(count + 1, sizeof *m->rows), "masks");
    m->place = MF_MUST(calloc(count + 1, sizeof *m->place), "masks");
    MF_TRY(find(comm, m, count, words->count > 0, samples));
    for (size_t k = 0; k < m->count; ++k) most = mf_max(most, numbers(&m->layer[k]));
    m->row = MF_MUST(calloc(most + 1, sizeof *m->row), "a mask");
    return mf_agree(comm, mf_open_plain(path, O_RDONLY, &m->file));
}

void mf_masks_close(struct mf_masks *m)
{
    if (m->path && m->file >= 0) close(m->file);
    free(m->layer);
    free(m->rows);
    free(m->place);
    free(m->row);
    *m = (struct mf_masks){.file = -1};
}

int mf_masks_read(struct mf_masks *m, size_t k, size_t i, const float **values)
{
    const size_t n = numbers(&m->layer[k]), row = mf_min(i, m->rows[k] - 1);

    *values = m->row;
    MF_TRY(mf_read_at(m->file, m->path, m->row, n * sizeof *m->row, m->place[k] + row * n * sizeof *m->row));
    for (size_t j = 0; j < n; ++j)
        if (!isfinite(m->row[j]))
            return mf_fail(MF_INPUT,
                           "--mask '%.200s': row %zu of /activations/%s has a value that is not a finite number",
                           m->path, row, m->layer[k].name);
    return MF_OK;
}

void mf_masks_say(const struct mf_masks *m)
{
    char text[LIST] = "";

    for (size_t k = 0; k < m->count; ++k)
        mf_enumerate(text, LIST, "%s (%s)", m->layer[k].name,
                     m->rows[k] == 1 ? "one row for all samples" : "a row for each");
    if (m->count > 0) mf_info("masked by '%s': %s", m->path, text);
}
