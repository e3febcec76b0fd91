/* See notes.h. */
#include "io/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { KINDS = 64, NOTE_TEXT = 200, NOTE_FILE = 400 };

/* One kind of note. */
struct note {
    char text[NOTE_TEXT], first[NOTE_FILE];
    long files;
    int warns;
};

static struct {
    int on;
    size_t count;
    struct note note[KINDS];
} gathered;

static void say(const char *file, const char *others, int warns, const char *text)
{
    if (warns)
        mf_warn("'%s'%s: %s", file, others, text);
    else
        mf_info("'%s'%s: %s", file, others, text);
}

/* Adds a note to those of its kind, which are said together; a kind too many is said at once. */
static void add(const char *file, int warns, const char *text, long files)
{
    struct note *at = gathered.note, *end = at + gathered.count;

    while (at < end && strncmp(at->text, text, NOTE_TEXT - 1) != 0) ++at;
    if (at == gathered.note + KINDS) {
        say(file, "", warns, text);
        return;
    }
    if (at == end) {
        ++gathered.count;
        *at = (struct note){.warns = warns};
        snprintf(at->text, NOTE_TEXT, "%s", text);
        snprintf(at->first, NOTE_FILE, "%s", file);
    }
    at->files += files;
}

void mf_note(const char *file, int warns, const char *text)
{
    if (gathered.on)
        add(file, warns, text, 1);
    else
        say(file, "", warns, text);
}

void mf_notes_begin(void) { gathered.on = 1; }

int mf_notes_gathered(void) { return gathered.on; }

/* Puts the notes of all ranks together, in their order. Without memory for them rank 0 has its own. */
static void join(const struct mf_comm *comm)
{
    const size_t own = gathered.count * sizeof *gathered.note;
    size_t *end = MF_MUST(calloc((size_t)comm->size + 1, sizeof *end), "notes");
    void *all = NULL;

    if (mf_comm_gather(comm, gathered.note, own, &all, end) != MF_OK)
        mf_err_clear();
    else
        gathered.count = 0;
    for (size_t i = 0; all && i < end[comm->size] / sizeof(struct note); ++i) {
        const struct note *n = (const struct note *)all + i;

        add(n->first, n->warns, n->text, n->files);
    }
    free(all);
    free(end);
}

void mf_notes_end(const struct mf_comm *comm)
{
    if (comm->size > 1) join(comm);
    for (const struct note *n = gathered.note; n < gathered.note + gathered.count; ++n) {
        char others[40] = "";

        if (n->files > 1) snprintf(others, sizeof others, " and %ld more file%s", n->files - 1, MF_S(n->files - 1));
        say(n->first, others, n->warns, n->text);
    }
    mf_notes_drop();
}

void mf_notes_drop(void)
{
    gathered.on = 0;
    gathered.count = 0;
}
