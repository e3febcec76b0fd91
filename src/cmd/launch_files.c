/* See launch_job.h: files and folders that a job would look for, as far as they can be seen from here. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/launch_job.h"

/* ---- the log ---- */

/* Why no file could be made in a folder; NULL: it could. */
static const char *wrong_with(const char *folder)
{
    struct stat is;

    if (stat(folder, &is) != 0) return "is not here";
    if (!S_ISDIR(is.st_mode)) return "is no folder";
    return access(folder, W_OK) == 0 ? NULL : "cannot be written";
}

/* Folders whose names Slurm makes (%j) are not looked at. The nodes may have a place that this machine does not, and a
 * script may be meant for elsewhere: only what is submitted from here must find its folder. */
static int check_log_file(const char *option, const char *file, int is_submitted)
{
    const char *slash = strrchr(file, '/'), *wrong;
    char folder[4096];
    struct stat is;

    if ((slash && !slash[1]) || (stat(file, &is) == 0 && S_ISDIR(is.st_mode)))
        return mf_fail(MF_USAGE, "%s '%.200s': is a folder; name a file in it, %.200s%s%%x-%%j.out", option, file, file,
                       slash && !slash[1] ? "" : "/");
    if (!slash || slash == file) return MF_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - file), file);
    wrong = strchr(folder, '%') ? NULL : wrong_with(folder);
    if (!wrong) return MF_OK;
    if (is_submitted && *folder != '/')
        return mf_fail(
            MF_USAGE,
            "%s '%.200s': '%.200s' %s, and Slurm would end the job without a word; make it, or name another folder",
            option, file, folder, wrong);
    mf_log_open(0, 1, MF_WARN);
    mf_warn("%s: '%.200s' %s; where the job runs it must be a folder that can be written, else Slurm ends it without a "
            "word",
            option, folder, wrong);
    return MF_OK;
}

int mf_launch_log_check(const struct mf_job *job, int is_submitted)
{
    if (job->by != MF_BY_SBATCH) return MF_OK;
    if (job->name && strchr(job->name, '/') && (!job->log || strstr(job->log, "%x")))
        return mf_fail(
            MF_USAGE,
            "--job-name '%.100s': its log has that name, and Slurm would look for a folder: --log says another",
            job->name);
    if (job->log) MF_TRY(check_log_file("--log", job->log, is_submitted));
    for (size_t i = 0; i < job->more; ++i)
        if (strncmp(job->more_at[i], "error=", 6) == 0)
            MF_TRY(check_log_file("--slurm-options error", job->more_at[i] + 6, is_submitted));
    return MF_OK;
}

/* ---- what a container shows ---- */

/* A source below or beside the current folder by its whole path, as every container takes it. docker and podman mean
 * something of their own by a bare name. */
static int add_mount(const struct mf_job *job, const char *mount, struct mf_words *to)
{
    const size_t n = strcspn(mount, ":");
    const int is_bare = *mount != '.' && !memchr(mount, '/', n);
    char *source = NULL, *whole = NULL;
    int rc = MF_OK;

    if (n == 0 || job->box == MF_BOX_NONE || *mount == '/' ||
        (is_bare && (job->box == MF_BOX_DOCKER || job->box == MF_BOX_PODMAN))) {
        mf_words_add(to, mount);
        return MF_OK;
    }
    source = MF_MUST(strndup(mount, n), "a name");
    whole = realpath(source, NULL);
    if (!whole)
        rc = mf_fail(MF_USAGE, "--mount '%.200s': '%.200s' is not here; a path of the nodes begins with '/'", mount,
                     source);
    else if (strpbrk(whole, ",:\n"))
        rc = mf_fail(MF_USAGE, "--mount '%.200s': '%.200s' has ',' or ':' in its name and cannot be mounted", mount,
                     whole);
    else
        mf_words_say(to, "%s%s", whole, mount + n);
    free(whole);
    free(source);
    return rc;
}

int mf_launch_mount(const struct mf_texts *mounts, struct mf_launch_job *l)
{
    for (size_t i = 0; i < mounts->count; ++i) MF_TRY(add_mount(&l->job, mounts->at[i], &l->mounts));
    l->job.mounts = l->mounts.count;
    l->job.mount = (const char *const *)l->mounts.at;
    return MF_OK;
}

/* "/a/./b/../c//d" of @p path below @p folder as "/a/c/d": the name, whatever links are on the way; heap. */
static char *whole(const char *folder, const char *path)
{
    char *name = NULL, *to;

    if (asprintf(&name, "%s/%s", *path == '/' ? "" : folder, path) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    to = name;
    for (const char *at = name; *at;) {
        const size_t n = strcspn(++at, "/");

        if (n == 2 && strncmp(at, "..", 2) == 0)
            while (to > name && *--to != '/') {}
        else if (n > 0 && !(n == 1 && *at == '.')) {
            *to++ = '/';
            memmove(to, at, n);
            to += n;
        }
        at += n;
    }
    if (to == name) *to++ = '/';
    *to = '\0';
    return name;
}

/* The folder of a whole path; heap. */
static char *folder_of(const char *path)
{
    char *folder = MF_MUST(strdup(path), "a name"), *slash = strrchr(folder, '/');

    slash[slash == folder] = '\0';
    return folder;
}

/* Where a whole path leads: without links, as far as it is here, and what is not here behind that; heap. */
static char *place_of(const char *path)
{
    char *at = MF_MUST(strdup(path), "a name"), *real, *place = NULL, link[4096];

    while (!(real = realpath(at, NULL))) {
        char *folder = folder_of(at);
        const ssize_t n = readlink(at, link, sizeof link - 1);

        if (n > 0) { /* to what is gone, or yet to be written */
            link[n] = '\0';
            free(at);
            at = whole(folder, link);
            free(folder);
            return at;
        }
        free(at);
        at = folder;
    }
    if (asprintf(&place, "%s%s", real[1] ? real : "", path + (at[1] ? strlen(at) : 0)) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    free(at);
    free(real);
    return place;
}

static int is_below(const char *path, const char *folder, size_t n)
{
    while (n > 0 && folder[n - 1] == '/') --n;
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Has the container a place of this whole path? A mount may have another name there. */
static int is_shown(const struct mf_job *job, const char *path)
{
    int shown = is_below(path, job->folder, strlen(job->folder));

    for (size_t i = 0; i < job->mounts && !shown; ++i) {
        const char *colon = strchr(job->mount[i], ':'), *there = colon ? colon + 1 : job->mount[i];

        shown = is_below(path, there, strcspn(there, ":"));
    }
    return shown;
}

/* What is to be mounted for @p path: the nearest folder that is here, else its own, as the nodes may have it; heap.
 * NULL: that would be everything, or cannot be mounted. */
static char *mount_of(const char *path)
{
    char *at = MF_MUST(strdup(path), "a name");
    struct stat is;

    while (at[1] && (stat(at, &is) != 0 || !S_ISDIR(is.st_mode))) {
        char *folder = folder_of(at);

        free(at);
        at = folder;
    }
    if (!at[1]) {
        free(at);
        at = folder_of(path);
    }
    if (at[1] && !strpbrk(at, ",:\n")) return at;
    free(at);
    return NULL;
}

/* "--mount FOLDER" as a shell takes it; heap. */
static char *mount_option(const char *folder)
{
    char *text;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "an option");

    fputs("--mount ", to);
    mf_quote(to, folder);
    fclose(to);
    return MF_MUST(text, "an option");
}

static void warn_of(const struct mf_job *job, const char *word)
{
    char *name = whole(job->folder, word), *place = place_of(name);
    const char *hidden = !is_shown(job, name) ? name : !is_shown(job, place) ? place : NULL;

    if (hidden) {
        char *mount = mount_of(hidden), *advice = mount ? mount_option(mount) : NULL;

        mf_warn("'%s' is outside of what the container shows, the current folder and --mount; try: %s", word,
                advice ? advice : "a name in the current folder");
        free(advice);
        free(mount);
    }
    free(place);
    free(name);
}

/* A path, or a link in the current folder; other words are none, whatever files have their names. */
static int names_file(const char *word)
{
    struct stat is;

    return strchr(word, '/') || (lstat(word, &is) == 0 && S_ISLNK(is.st_mode));
}

/* "--option=FILE", FILE, NAME=FILE. */
static void warn_word(const struct mf_job *job, const char *word)
{
    const char *equals = strchr(word, '=');

    if (strncmp(word, "--", 2) != 0 && names_file(word)) warn_of(job, word);
    if (equals && names_file(equals + 1)) warn_of(job, equals + 1);
}

static void warn_value(void *job, const char *word, const char *value, enum mf_origin origin)
{
    (void)word;
    if (origin == MF_FROM_FILE) warn_word(job, value);
}

void mf_launch_warn_outside(const struct mf_job *job, const struct mf_words *words, const struct mf_options *options)
{
    mf_log_open(0, 1, MF_WARN);
    for (size_t i = 1; i < words->count; ++i) warn_word(job, words->at[i]);
    mf_options_each(options, warn_value, (void *)(uintptr_t)job);
}
