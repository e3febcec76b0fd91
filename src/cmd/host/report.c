/* report: makes one self-contained page of runs and measurements, with pictures. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/seal.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/folder.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/host/report_bench.h"
#include "src/cmd/host/report_follow.h"
#include "src/cmd/host/report_properties.h"
#include "src/cmd/unused.h"
#include "src/show/page.h"

enum {
    WORD = 4200,
    WORDS = 8 /* of a verb that is asked */,
    CELL = 200,
    SENTENCES = 1 << 16 /* bytes of a verb that refuses */
};

#define MOST_JSON ((size_t)64 << 20)

struct report {
    struct mf_common common;
    const char *title, *threshold;
    struct mf_longs labels;
    int follow;
};

static const struct mf_opt rows[] = {
    MF_OPT(report, "title", title, MF_TEXT, "mesoforge report", "of the page"),
    MF_OPT(report, "threshold", threshold, MF_TEXT, NULL, "binarise grey input, as view does"),
    MF_OPT(report, "labels", labels, MF_LONGS, NULL, "labels that are phases 0, 1, ..., as view takes them"),
    MF_OPT(report, "follow", follow, MF_FLAG, NULL, "print the metrics of a run as they come, until it ends; no page"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* The sentence of a verb that refused: what stands behind "mesoforge: VERB: " in @p path. */
static int pass_on(int code, const char *path, const char *verb, const char *about)
{
    char head[64], *text = NULL, *sentence, *end;
    size_t count = 0;

    snprintf(head, sizeof head, "mesoforge: %s: ", verb);
    if (mf_text_load(path, SENTENCES, &text, &count) != MF_OK) mf_err_clear();
    sentence = text ? strstr(text, head) : NULL;
    end = sentence ? strchr(sentence, '\n') : NULL;
    if (end) *end = '\0';
    if (sentence)
        mf_fail(code, "%s", sentence + strlen(head));
    else if (code != MF_OUTPUT || mf_atomic_room(path, SENTENCES) == MF_OK) /* on a full disk it could not be said */
        mf_fail(code, "'%s' cannot be reported on", about);
    free(text);
    return code;
}

/* Runs this program and gets its output; heap. */
static int ask(const char *folder, const char *const *words, size_t n, char **out)
{
    char self[WORD], errors[WORD], *line[WORDS + 2];
    struct mf_child child = {.words = line, .drops = mf_child_ranks, .errors = errors};
    int status;

    snprintf(errors, sizeof errors, "%.4100s/errors", folder);
    mf_child_self(self, sizeof self);
    line[0] = self;
    for (size_t i = 0; i < n; ++i) line[i + 1] = (char *)(uintptr_t)words[i];
    line[n + 1] = NULL;
    *out = NULL;
    status = mf_child_run(&child, out);
    if (status == 0) return MF_OK;
    free(*out);
    *out = NULL;
    MF_TRY(mf_child_stopped());
    return pass_on(status > 0 && status < 128 ? status : MF_INPUT, errors, words[0], words[1]);
}

/* Numbers and texts of an object, those of objects in it under "key.key". */
static void facts(const struct mf_page *page, const struct mf_json *json, const char *before, const char *const *keys)
{
    for (; *keys; ++keys) {
        const struct mf_json *value = mf_json_get(json, *keys);
        char cell[CELL], name[CELL];

        switch (mf_json_kind(value)) {
        case MF_JSON_BOOL: snprintf(cell, CELL, "%s", mf_json_to_bool(value) ? "yes" : "no"); break;
        case MF_JSON_INT: snprintf(cell, CELL, "%lld", mf_json_to_int(value)); break;
        case MF_JSON_REAL: snprintf(cell, CELL, "%.6g", mf_json_to_real(value)); break;
        case MF_JSON_TEXT: snprintf(cell, CELL, "%.190s", mf_json_to_text(value)); break;
        default: continue;
        }
        snprintf(name, CELL, "%s%s", before, *keys);
        mf_page_row(page, 2, (const char *const[]){name, cell});
    }
}

/* A run's output: who made it how, what it reached, by which plan. */
static void run_facts(const struct mf_page *page, const struct mf_json *info)
{
    static const char *const whole[] = {"checksums", NULL};
    static const char *const made[] = {"creator", "created", "command", "seed", NULL};
    static const char *const reached[] = {"loss",
                                          "loss_final",
                                          "evaluations",
                                          "seconds",
                                          "seconds_per_evaluation",
                                          "polish_seconds",
                                          "swaps",
                                          "grey_before_cut",
                                          "variation_error",
                                          "device",
                                          "ranks",
                                          "threads",
                                          NULL};
    static const char *const planned[] = {"exchange", "hash", NULL}, *const settings[] = {"history", "offload", NULL};
    static const char *const slices[] = {"batch", NULL};
    static const char *const column[] = {"what", "value"};
    const struct mf_json *results = mf_json_get(info, "results"), *from = mf_json_get(info, "provenance");
    const struct mf_json *plan = mf_json_get(results, "plan");

    mf_page_table(page, 2, column);
    facts(page, info, "", whole);
    facts(page, from, "", made);
    facts(page, results, "", reached);
    if (mf_json_get_int(results, "batch") > 0) facts(page, results, "", slices); /* else from a slab */
    facts(page, plan, "plan: ", planned);
    facts(page, mf_json_get(plan, "settings"), "plan: ", settings);
    mf_page_table_end(page);
    if (*mf_json_get_text(from, "options")) mf_page_code(page, mf_json_get_text(from, "options"));
}

/* Warns of damage as view does, which is asked in silence. */
static int warn_damage(const struct mf_json *info)
{
    const char *is = mf_json_get_text(info, "checksums");
    struct mf_comm self;

    if (!*is || strcmp(is, "sound") == 0) return MF_OK;
    mf_comm_self(&self);
    return mf_seal_warn(&self, mf_json_get_text(info, "file"), 1, NULL);
}

/* --labels and --threshold as view takes them. */
static size_t pass_reading(const struct report *o, char text[2][WORD], const char **words)
{
    size_t n = 0, used;

    if (o->threshold) {
        snprintf(text[n], WORD, "--threshold=%.4000s", o->threshold);
        ++n;
    }
    if (o->labels.count) {
        used = (size_t)snprintf(text[n], WORD, "--labels=");
        for (size_t i = 0; i < o->labels.count && used < WORD - 32; ++i)
            used += (size_t)snprintf(text[n] + used, WORD - used, "%s%ld", i ? "," : "", o->labels.at[i]);
        ++n;
    }
    for (size_t i = 0; i < n; ++i) words[i] = text[i];
    return n;
}

/* The log of a folder is that of its run; the log of a file is the file. */
static void log_of(const char *given, char file[WORD])
{
    struct stat is;
    const int folder = stat(given, &is) == 0 && S_ISDIR(is.st_mode);

    snprintf(file, WORD, "%.4100s%s", given, folder ? "/metrics.jsonl" : "");
}

/* Is a folder that of a run? */
static int check_folder(const char *given)
{
    char file[WORD];

    log_of(given, file);
    if (strcmp(file, given) == 0 || access(file, F_OK) == 0) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is a folder without the metrics.jsonl of a run; name files: results of runs, what else view "
                   "draws, or .json files of bench",
                   given);
}

/* Any file that info and view understand. */
static int other(const struct report *o, const struct mf_page *page, const char *folder, const char *given,
                 size_t number)
{
    char picture[WORD], reading[2][WORD], file[WORD], *said, *drawn;
    const char *view[WORDS] = {"view", file, "--output", picture, "--logging_level", "40"};
    const size_t words = 6 + pass_reading(o, reading, view + 6);
    struct mf_json *info;
    int rc;

    log_of(given, file);
    snprintf(picture, sizeof picture, "%.4100s/view-%zu.png", folder, number);
    mf_page_heading(page, file);
    MF_TRY(ask(folder, view, words, &drawn));
    free(drawn);
    MF_TRY(mf_page_picture(page, picture, file));
    if (mf_ends_with(file, ".jsonl")) return MF_OK;
    MF_TRY(ask(folder, (const char *const[]){"info", file, "--json", "--logging_level", "40"}, 5, &said));
    info = mf_json_parse(said);
    free(said);
    rc = info ? MF_OK : mf_fail(MF_BROKEN, "info of '%s' is no JSON", file);
    if (info) {
        run_facts(page, info);
        rc = warn_damage(info);
    }
    mf_json_free(info);
    return rc;
}

static int is_bench(const struct mf_json *json) { return mf_json_count(mf_json_get(json, "measured")) > 0; }

static int one_of(const struct report *o, const struct mf_page *page, const char *folder, const char *name,
                  size_t number, const struct mf_json *said)
{
    return said ? mf_report_properties(page, folder, number, name, said) : other(o, page, folder, name, number);
}

/* Measurements together, then the other files in their order. */
static int fill(const struct report *o, const struct mf_page *page, const char *folder, size_t n,
                const char *const *files, const struct mf_report_bench *bench)
{
    struct mf_report_bench *some = MF_MUST(calloc(n + 1, sizeof *some), "files of measurements");
    size_t found = 0;
    int rc = MF_OK;

    for (size_t i = 0; i < n; ++i)
        if (is_bench(bench[i].said)) some[found++] = bench[i];
    if (found) rc = mf_report_bench(page, folder, found, some);
    for (size_t i = 0; i < n && rc == MF_OK; ++i)
        if (!is_bench(bench[i].said)) rc = one_of(o, page, folder, files[i], i, bench[i].said);
    free(some);
    return rc;
}

static int write_page(const struct report *o, const char *folder, const char *path, size_t n, const char *const *files,
                      const struct mf_report_bench *bench)
{
    struct mf_page page = {fopen(path, "w")};
    int rc;

    if (!page.to) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    mf_page_begin(&page, o->title);
    rc = fill(o, &page, folder, n, files, bench);
    mf_page_end(&page);
    if (ferror(page.to) && rc == MF_OK) rc = mf_fail(MF_OUTPUT, "cannot write '%s'", path);
    if (fclose(page.to) != 0 && rc == MF_OK) rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return rc;
}

/* The measurements and properties among the files. */
static int load(size_t n, const char *const *files, struct mf_report_bench *bench)
{
    for (size_t i = 0; i < n; ++i) {
        struct mf_json *json = NULL;

        bench[i].name = files[i];
        MF_TRY(check_folder(files[i]));
        if (!mf_ends_with(files[i], ".json")) continue;
        MF_TRY(mf_json_load(files[i], MOST_JSON, &json));
        bench[i].said = json;
        if (!is_bench(json) && !mf_is_properties(json))
            return mf_fail(MF_INPUT,
                           "'%s' is no file of bench --output, or of properties --output without --edge-for; report "
                           "takes no other .json",
                           files[i]);
    }
    return MF_OK;
}

/* Rank 0. */
static int make(const struct report *o, const char *temporary, size_t n, const char *const *files)
{
    struct mf_report_bench *bench = MF_MUST(calloc(n, sizeof *bench), "files of measurements");
    char folder[WORD];
    int rc = load(n, files, bench);

    snprintf(folder, sizeof folder, "%.4000s-XXXXXX", temporary);
    mf_child_hold();
    if (rc == MF_OK) rc = mf_folder_make(folder);
    if (rc == MF_OK) {
        rc = write_page(o, folder, temporary, n, files, bench);
        mf_folder_remove(folder);
    }
    mf_child_let();
    if (rc == MF_OK) rc = mf_child_stopped();
    for (size_t i = 0; i < n; ++i) mf_json_free((struct mf_json *)(uintptr_t)bench[i].said);
    free(bench);
    return rc;
}

/* FILE or FILE:ARRAY. */
static int is_there(const char *given)
{
    const char *array;
    char *file;
    int rc = MF_OK;

    mf_array_split(given, &file, &array);
    if (access(file, R_OK) != 0) rc = mf_fail(MF_INPUT, "cannot open '%s': %s", file, strerror(errno));
    free(file);
    return rc;
}

/* Rank 0, before anything is made: the files are there, and those of JSON are known. */
static int foresee(size_t n, const char *const *files)
{
    struct mf_report_bench *bench = MF_MUST(calloc(n, sizeof *bench), "files of measurements");
    int rc = load(n, files, bench);

    for (size_t i = 0; i < n && rc == MF_OK; ++i) rc = is_there(files[i]);
    for (size_t i = 0; i < n; ++i) mf_json_free((struct mf_json *)(uintptr_t)bench[i].said);
    free(bench);
    return rc;
}

static int say(const struct mf_session *s, const char *path, size_t files)
{
    struct mf_json *json;
    int rc = MF_OK;

    if (s->comm->rank != 0) return MF_OK;
    if (!mf_common_of(s)->json) {
        if (s->settings.dry_run)
            printf("%s: a page of %zu file%s; nothing is written\n", path, files, MF_S(files));
        else
            printf("%s\n", path);
        return MF_OK;
    }
    json = mf_json_object();
    if (s->settings.dry_run) mf_json_bool(json, "dry_run", 1);
    mf_json_text(json, "output", path);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int make_all(const struct mf_session *s, const struct report *o, const char *path, size_t n,
                    const char *const *files)
{
    struct mf_atomic file;

    MF_TRY(mf_atomic_open(s->comm, path, 0, &file));
    return mf_atomic_close(s->comm, &file, s->comm->rank == 0 ? make(o, file.temporary, n, files) : MF_OK);
}

static int check(const struct mf_session *s, void *options)
{
    const struct report *o = options;
    const size_t n = mf_arguments(s, NULL);

    if (o->follow && n != 1)
        return mf_fail(MF_USAGE,
                       "--follow needs one run, its folder or metrics.jsonl; try: mesoforge report --follow run");
    if (o->follow && s->settings.dry_run) return mf_fail(MF_USAGE, "--follow and --dry-run contradict each other");
    return n ? MF_OK
             : mf_fail(MF_USAGE, "report needs files of runs, of bench or of properties; try: mesoforge report "
                                 "RESULT.h5 metrics.jsonl");
}

static int follow(const struct mf_session *s, const char *given)
{
    char file[WORD];

    MF_UNUSED(s, "--follow writes no page", "output", "title", "threshold", "labels");
    log_of(given, file);
    MF_TRY(mf_agree(s->comm, s->comm->rank == 0 ? check_folder(given) : MF_OK));
    return mf_report_follow(s, file);
}

static int run(struct mf_session *s, void *options)
{
    const struct report *o = options;
    const char *const *files;
    size_t n = mf_arguments(s, &files);
    char *path = NULL;
    int rc;

    if (o->follow) return follow(s, files[0]);
    MF_TRY(mf_session_may_write(s, mf_common_of(s)->output, ".html"));
    MF_TRY(mf_agree(s->comm, s->comm->rank == 0 ? foresee(n, files) : MF_OK));
    rc = mf_session_path(s, "report", ".html", &path);
    if (rc == MF_OK) rc = mf_session_spares(s, path, n, files);
    if (rc == MF_OK && !s->settings.dry_run) rc = make_all(s, o, path, n, files);
    if (rc == MF_OK) rc = mf_agree(s->comm, say(s, path, n));
    free(path);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Writes one page of HTML, with its pictures inside, of\n"
    "\n"
    "  .json           files of bench --output: curves of all of them together\n"
    "                  (speedup, efficiency, bandwidth), and their tables; or of\n"
    "                  properties --output: values, errors and bounds\n"
    "  any other file  that view can draw: its picture, who made it with which\n"
    "                  options, what was reached, by which plan\n"
    "  a folder        the metrics.jsonl of the run whose output is there\n"
    "\n"
    "--follow makes no page. It shows the metrics of one run while it works, and\n"
    "ends with it. It then says whether the run ended, was stopped or is gone.\n"
    "A terminal gets a table of the newest rows, which it cuts at its width; a\n"
    "file or pipe gets each row as a line.\n"
    "\n"
    "Examples:\n"
    "  mesoforge report results/image_reconstructed.h5 metrics.jsonl\n"
    "  mesoforge report --follow results/vqa\n"
    "  mesoforge report bench-*.json --output scaling.html --title \"Two nodes\"\n";
/* clang-format on */

const struct mf_cmd mf_cmd_report = {
    .name = "report",
    .summary = "write one page, with pictures, about runs, measurements and properties",
    .synopsis = "FILE ... [--output PAGE.html] [--title TEXT] [--labels LABEL ...] | --follow RUN",
    .text = text,
    .tables = tables,
    .size = sizeof(struct report),
    .positional_max = 10000,
    .check = check,
    .run = run,
    .writes = 1,
};
