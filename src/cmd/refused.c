/* See refused.h. */
#include "src/cmd/refused.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { SHOWN = 20 /* lines, at most */ };

static void add(struct mf_refused *r, const struct mf_refused_file *file)
{
    if (r->count == r->room) {
        r->room = 2 * r->room + 4;
        r->file = MF_MUST(realloc(r->file, r->room * sizeof *r->file), "files that were refused");
    }
    r->file[r->count++] = *file;
}

int mf_refused_note(struct mf_refused *r, size_t place, int code)
{
    struct mf_refused_file file = {.place = place, .code = code};

    if (code != MF_USAGE && code != MF_INPUT && code != MF_NUMERIC && code != MF_MEMORY) return code;
    snprintf(file.why, sizeof file.why, "%s", mf_err_text());
    mf_err_clear();
    add(r, &file);
    return MF_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct mf_refused_file *one = a, *other = b;

    return (one->place > other->place) - (one->place < other->place);
}

int mf_refused_share(const struct mf_comm *comm, struct mf_refused *r)
{
    const size_t bytes = r->count * sizeof *r->file;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "files that were refused");
    void *all = NULL;
    int rc = mf_comm_gather(comm, r->file, bytes, &all, offset);

    if (rc == MF_OK) {
        free(r->file);
        r->file = all;
        r->count = r->room = offset[comm->size] / sizeof *r->file;
    }
    free(offset);
    return rc;
}

int mf_refused_end(struct mf_refused *r, size_t files)
{
    const struct mf_refused_file *first = r->file;

    if (r->count == 0) return MF_OK;
    qsort(r->file, r->count, sizeof *r->file, by_place);
    if (files == 1) return mf_fail(first->code, "%s", first->why);
    for (size_t i = 0; i < r->count && i < SHOWN; ++i) mf_warn("left out: %s", r->file[i].why);
    if (r->count > SHOWN) mf_warn("left out: %zu more", r->count - SHOWN);
    return mf_fail(first->code == MF_USAGE && r->count < files ? MF_INPUT : first->code,
                   "%zu of %zu files %s refused and left out; the first: %.800s", r->count, files,
                   r->count == 1 ? "was" : "were", first->why);
}

struct mf_json *mf_refused_json(const struct mf_refused *r, const char *const *files)
{
    struct mf_json *list = mf_json_array();

    for (size_t i = 0; i < r->count; ++i) {
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "file", files[r->file[i].place], "error", (const char *)r->file[i].why);
        mf_json_put(list, NULL, one);
    }
    return list;
}

void mf_refused_free(struct mf_refused *r)
{
    free(r->file);
    *r = (struct mf_refused){0};
}
