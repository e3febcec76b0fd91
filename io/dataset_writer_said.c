/* A setting of a set, before a writer is opened. See dataset_writer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/dataset_writer_priv.h"
#include "io/guard.h"
#include "src/base/err.h"
#include "src/base/text.h"

struct asking {
    const char *path, *name;
    char *value; /* [room] */
    size_t room;
};

/* The value of the line "NAME: VALUE"; "": there is none. */
static void find(const struct asking *a, const char *text)
{
    const size_t length = strlen(a->name);

    for (const char *at = text; *at; at = strchrnul(at, '\n'), at += *at == '\n')
        if (strncmp(at, a->name, length) == 0 && strncmp(at + length, ": ", 2) == 0) {
            snprintf(a->value, a->room, "%.*s", (int)(strchrnul(at, '\n') - at - (ptrdiff_t)length - 2),
                     at + length + 2);
            return;
        }
}

static int read_value(struct mf_h5 *h5, const struct asking *a)
{
    char *text;

    if (!mf_h5_has(h5, MF_SET_SETTINGS)) return MF_OK;
    MF_TRY(mf_h5_read_text(h5, MF_SET_SETTINGS, MF_WRITER_SETTINGS, &text));
    find(a, text);
    free(text);
    return MF_OK;
}

/* In a child. */
static int work(void *context, FILE *to)
{
    const struct asking *a = context;
    struct mf_h5 *h5;
    int rc, end;

    MF_TRY(mf_h5_open(a->path, &h5));
    rc = mf_h5_unread(h5, read_value(h5, a));
    end = mf_h5_close(h5);
    MF_TRY(rc);
    MF_TRY(end);
    return mf_guard_send(to, a->value, a->room);
}

static int take(void *context, FILE *from)
{
    struct asking *a = context;

    MF_TRY(mf_guard_receive(from, a->value, a->room));
    a->value[a->room - 1] = '\0';
    return MF_OK;
}

/* Rank 0. The writer finds out later why a file cannot be read. */
static void ask(const char *path, struct asking *a)
{
    char *partial = mf_format("%s.partial", path);
    struct stat is;
    int begun;

    a->path = mf_writer_owns(partial, &begun) == MF_OK && begun ? partial : path;
    if (stat(a->path, &is) == 0 && mf_guard(a->path, MF_GUARD_SECONDS, work, take, a) != MF_OK) *a->value = '\0';
    mf_err_clear();
    free(partial);
}

void mf_writer_said(const struct mf_comm *comm, const char *path, const char *name, size_t room, char *value)
{
    struct asking a = {NULL, name, value, room};

    memset(value, 0, room);
    if (comm->rank == 0) ask(path, &a);
    mf_comm_bcast(comm, 0, value, room);
}
