/* See micro_priv.h: the part of an image that is read, --crop and --crop-bar. */
#include <stdio.h>
#include <string.h>

#include "io/bar.h"
#include "io/micro_priv.h"
#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/text.h"

enum { BAR_TEXT = 120, COMMAND_MOST = 400 };

/* A warning is no reason to look at more rows, which take memory, nor at less of an image. */
enum { SEEN_LEAST = 32, SEEN_ROWS = 100000 };

/* "its last 64 rows look like a data bar" */
static void bar_text(const struct mf_array *a, struct mf_span kept, char text[BAR_TEXT])
{
    const size_t top = kept.first, bottom = a->shape[0] - kept.first - kept.count;

    if (top && bottom)
        snprintf(text, BAR_TEXT, "its first %zu and its last %zu rows look like data bars", top, bottom);
    else
        snprintf(text, BAR_TEXT, "its %s %zu rows look like a data bar", top ? "first" : "last", top + bottom);
}

/* The summary line of many files has no numbers of one. */
static void say_cut(const struct mf_array *a, struct mf_span kept)
{
    char bar[BAR_TEXT], text[BAR_TEXT + 120];

    bar_text(a, kept, bar);
    snprintf(text, sizeof text, "%s and are cut off (the same: --crop %zu 0 %zu %zu)", bar, kept.first, kept.count,
             a->shape[1]);
    mf_note(a->path, 0, mf_notes_gathered() ? "its data bar is cut off" : text);
}

static int find_bar(struct mf_reading *r)
{
    const struct mf_array *a = &r->array;
    struct mf_span kept;
    enum mf_bar found;

    if (a->ndim != 2)
        return mf_fail(MF_INPUT, "'%s' has %d axes, and --crop-bar looks for the data bar of an image, which has two",
                       a->path, a->ndim);
    MF_TRY(mf_bar_look(r->comm, a, NULL, &found, &kept));
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
    r->crop = (struct mf_crop){{kept.first, 0}, {kept.count, a->shape[1]}, {0}};
    say_cut(a, kept);
    return MF_OK;
}

int mf_reading_crop(struct mf_reading *r)
{
    const size_t shape[2] = {r->array.shape[0], r->array.shape[1]};

    if (!r->read->crop && !r->read->crop_bar) return MF_OK;
    if (r->read->crop_bar)
        MF_TRY(find_bar(r));
    else
        r->crop = *r->read->crop;
    MF_TRY(mf_array_crop(&r->array, &r->crop));
    memcpy(r->crop.of, shape, sizeof shape);
    memcpy(r->micro->crop, r->crop.first, sizeof r->crop.first);
    memcpy(r->micro->crop + 2, r->crop.count, sizeof r->crop.count);
    return MF_OK;
}

/* Collective: sets @p text to a sentence about a bar that nothing was done about, or to "". A failure is no reason to
 * refuse the image: it gives "" on all ranks. @p known: a scan of the whole array, or NULL. */
static void see_bar(const struct mf_reading *r, const struct mf_scan *known, char text[BAR_TEXT])
{
    const struct mf_array *a = &r->array;
    struct mf_span kept;
    enum mf_bar found;

    *text = '\0';
    if (a->ndim != 2 || a->cropped || r->micro->mask) return;
    if (a->shape[0] < SEEN_LEAST || a->shape[0] > SEEN_ROWS || a->shape[1] < SEEN_LEAST) return;
    if (mf_bar_look(r->comm, a, known, &found, &kept) != MF_OK)
        mf_err_clear();
    else if (found == MF_BAR_FOUND)
        bar_text(a, kept, text);
}

/* "; its last 64 rows look like a data bar; try: COMMAND --threshold otsu --crop-bar". @p when: the condition under
 * which the command helps, or "". */
static void hint_text(const struct mf_reading *r, const char bar[BAR_TEXT], const char *when, char text[MF_HINT_TEXT])
{
    const char *command = r->read->command;

    if (strlen(command) > COMMAND_MOST) command = "...";
    snprintf(text, MF_HINT_TEXT, "%s%s; %stry: %s%s%s", *bar ? "; " : "", bar, when, command,
             r->read->threshold ? "" : " --threshold otsu", *bar ? " --crop-bar" : "");
}

void mf_reading_hint(const struct mf_reading *r, char text[MF_HINT_TEXT])
{
    char bar[BAR_TEXT];

    *text = '\0';
    if (!r->read->command) return;
    see_bar(r, &r->scan, bar);
    hint_text(r, bar, "", text);
}

int mf_reading_colours(const struct mf_reading *r, int rc)
{
    char why[MF_ERR_TEXT], bar[BAR_TEXT] = "", hint[MF_HINT_TEXT] = "";

    if (rc != MF_INPUT || !r->read->command || !(r->array.said & (MF_SAID_GREY | MF_SAID_PALETTE))) return rc;
    mf_err_take(why, sizeof why);
    see_bar(r, NULL, bar);
    if (*bar) hint_text(r, bar, "if the bar alone has colours, ", hint);
    return mf_fail(rc, "%.380s%s", why, hint);
}

void mf_reading_warn_bar(const struct mf_reading *r)
{
    char bar[BAR_TEXT], text[BAR_TEXT + 60];

    if (!r->read->command || !r->binary || r->read->is_mask) return;
    see_bar(r, &r->scan, bar);
    if (!*bar) return;
    snprintf(text, sizeof text, "%s, which counts as material; try: --crop-bar", bar);
    mf_note(r->array.path, 1,
            mf_notes_gathered() ? "it seems to have a data bar, which counts as material; try: --crop-bar" : text);
}
