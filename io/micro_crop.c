/* See micro_priv.h: the part of an image that is read, --crop and --crop-bar. */
#include <stdio.h>
#include <string.h>

#include "io/bar.h"
#include "io/micro_priv.h"
#include "io/notes.h"
#include "src/base/err.h"
#include "src/base/text.h"

enum { COMMAND_MOST = 400 };

/* A warning is no reason to look at more rows, which take memory, nor at less of an image. */
enum { SEEN_LEAST = 32, SEEN_ROWS = 100000 };

int mf_reading_crop(struct mf_reading *r)
{
    const size_t shape[2] = {r->array.shape[0], r->array.shape[1]};

    if (!r->read->crop && !r->read->crop_bar) return MF_OK;
    if (r->read->crop_bar)
        MF_TRY(mf_bar_crop(r->comm, &r->array, &r->crop));
    else
        r->crop = *r->read->crop;
    MF_TRY(mf_array_crop(&r->array, &r->crop));
    memcpy(r->crop.of, shape, sizeof shape);
    memcpy(r->micro->crop, r->crop.first, sizeof r->crop.first);
    memcpy(r->micro->crop + 2, r->crop.count, sizeof r->crop.count);
    return MF_OK;
}

/* A bar that nothing was done about: what it leaves, and a sentence about it; "": there is none. */
struct seen {
    struct mf_span kept;
    char text[MF_BAR_TEXT];
};

/* Collective. A failure is no reason to refuse the image: then all ranks find no bar. The scan @p known is one of the
 * whole array, or NULL. */
static struct seen see_bar(const struct mf_reading *r, const struct mf_scan *known)
{
    const struct mf_array *a = &r->array;
    struct seen bar = {.text = ""};
    enum mf_bar found;

    if (a->ndim != 2 || a->cropped || r->micro->mask) return bar;
    if (a->shape[0] < SEEN_LEAST || a->shape[0] > SEEN_ROWS || a->shape[1] < SEEN_LEAST) return bar;
    if (mf_bar_look(r->comm, a, known, &found, &bar.kept) != MF_OK)
        mf_err_clear();
    else if (found == MF_BAR_FOUND)
        mf_bar_text(a, bar.kept, bar.text);
    return bar;
}

/* Collective: the labels of the part beside a bar, which --crop-bar leaves; 0: its values are none. */
static int labels_beside(const struct mf_reading *r, const struct seen *bar, struct mf_scan *scan)
{
    const struct mf_crop part = {{bar->kept.first, 0}, {bar->kept.count, r->array.shape[1]}, {0}};
    struct mf_array left = r->array;
    int rc;

    if (!*bar->text) return 0;
    rc = mf_array_crop(&left, &part);
    if (rc == MF_OK) rc = mf_scan(r->comm, &left, NULL, scan);
    if (rc != MF_OK) mf_err_clear();
    return rc == MF_OK && !scan->fractions && !scan->bad && scan->distinct <= MF_PHASES_MAX;
}

/* Collective: the option that makes phases of what --crop-bar leaves, as " --threshold otsu" or " --labels 0,255". */
static void option_text(const struct mf_reading *r, const struct seen *bar, char text[MF_BAR_TEXT])
{
    struct mf_scan scan;
    size_t n;

    *text = '\0';
    if (r->read->threshold || r->read->label_count) return;
    if (!labels_beside(r, bar, &scan)) {
        snprintf(text, MF_BAR_TEXT, " --threshold otsu");
        return;
    }
    if (scan.value[0] == 0 && scan.value[scan.distinct - 1] == scan.distinct - 1) return;
    n = (size_t)snprintf(text, MF_BAR_TEXT, " --labels ");
    for (int64_t i = 0; i < scan.distinct && n < MF_BAR_TEXT; ++i)
        n += (size_t)snprintf(text + n, MF_BAR_TEXT - n, "%s%lld", i ? "," : "", (long long)scan.value[i]);
    if (n >= MF_BAR_TEXT) snprintf(text, MF_BAR_TEXT, " --labels ..."); /* a part of them would be wrong */
}

/* Collective: "; its last 64 rows look like a data bar; try: COMMAND --threshold otsu --crop-bar". The text @p when is
 * the condition under which the command helps, or "". */
static void hint_text(const struct mf_reading *r, const struct seen *bar, const char *when, char text[MF_HINT_TEXT])
{
    const char *command = r->read->command;
    char option[MF_BAR_TEXT];

    if (strlen(command) > COMMAND_MOST) command = "...";
    option_text(r, bar, option);
    snprintf(text, MF_HINT_TEXT, "%s%s; %stry: %s%s%s", *bar->text ? "; " : "", bar->text, when, command, option,
             *bar->text ? " --crop-bar" : "");
}

void mf_reading_hint(const struct mf_reading *r, int needs_bar, char text[MF_HINT_TEXT])
{
    struct seen bar;

    *text = '\0';
    if (!r->read->command) return;
    bar = see_bar(r, &r->scan);
    if (*bar.text || !needs_bar) hint_text(r, &bar, "", text);
}

int mf_reading_colours(const struct mf_reading *r, int rc)
{
    char all[MF_ERR_TEXT], why[MF_ERR_TEXT], hint[MF_HINT_TEXT] = "";
    struct seen bar;

    if (rc != MF_INPUT || !r->read->command || !(r->array.said & (MF_SAID_GREY | MF_SAID_PALETTE))) return rc;
    snprintf(all, sizeof all, "%s", mf_err_text());
    mf_err_take(why, sizeof why);
    bar = see_bar(r, NULL);
    if (!*bar.text) return mf_fail(rc, "%.1000s", all);
    hint_text(r, &bar, "if the bar alone has colours, ", hint);
    return mf_fail(rc, "%.380s%s", why, hint);
}

int mf_reading_stray(const struct mf_reading *r, int rc)
{
    char why[MF_ERR_TEXT], hint[MF_HINT_TEXT];

    if (rc != MF_INPUT || !r->read->label_count || r->read->of_sample) return rc;
    mf_err_take(why, sizeof why);
    mf_reading_hint(r, 1, hint);
    return mf_fail(rc, "%.380s%s", why, hint);
}

void mf_reading_warn_bar(const struct mf_reading *r)
{
    char text[MF_BAR_TEXT + 60];
    struct seen bar;

    if (!r->read->command || r->array.own || r->read->is_mask) return;
    bar = see_bar(r, &r->scan);
    if (!*bar.text) return;
    snprintf(text, sizeof text, "%s, which counts as material; try: --crop-bar", bar.text);
    mf_note(r->array.path, 1,
            mf_notes_gathered() ? "it seems to have a data bar, which counts as material; try: --crop-bar" : text);
}
