/* See launch_job.h: finds files of a verb that are not visible in the container. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/array.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/host/launch_job.h"

enum { LINKS = 40 }; /* on the way of one path, as Linux follows them */

/* A folder that the container has from outside, by its name there and here; NULL: a volume of docker's own. */
struct root {
    char *there, *here;
};

struct view {
    const struct mf_job *job;
    size_t roots;
    struct root *root;
};

/* ---- names ---- */

/* The folder of a whole path; heap. "" is the topmost. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return MF_MUST(strndup(path, slash ? (size_t)(slash - path) : 0), "a name");
}

/* The path from @p folder a part on; heap. */
static char *step(const char *folder, const char *part, size_t n)
{
    if (n == 0 || (n == 1 && *part == '.')) return MF_MUST(strdup(folder), "a name");
    if (n == 2 && strncmp(part, "..", 2) == 0) return folder_of(folder);
    return mf_format("%s/%.*s", folder, (int)n, part);
}

static int is_below(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* ---- paths in the container ---- */

/* The innermost root that a whole path of the container is in; NULL: none. */
static const struct root *root_of(const struct view *v, const char *path)
{
    const struct root *in = NULL;

    for (size_t i = 0; i < v->roots; ++i)
        if (is_below(path, v->root[i].there) && (!in || strlen(v->root[i].there) > strlen(in->there))) in = &v->root[i];
    return in;
}

/* Text of a link in the container; heap; NULL: @p path is none. A link of a root itself is followed outside. */
static char *link_of(const struct view *v, const char *path)
{
    const struct root *in = root_of(v, path);
    char *here, *link = NULL, says[4096];
    ssize_t n;

    if (!in || !in->here || !path[strlen(in->there)]) return NULL;
    here = mf_format("%s%s", in->here, path + strlen(in->there));
    n = readlink(here, says, sizeof says);
    if (n > 0) link = MF_MUST(strndup(says, (size_t)n), "a link");
    free(here);
    return link;
}

/* Resolves a path in the container as the system there would. It follows links, which may lead to files that do not
 * exist yet; heap. */
static char *place_of(const struct view *v, const char *path)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a view without a job is asked for whole paths only */
    char *at = MF_MUST(strdup(""), "a name"), *rest = mf_format("%s/%s", *path == '/' ? "" : v->job->folder, path);
    const char *part = rest;

    for (int links = 0; *part;) {
        const size_t n = strcspn(part, "/");
        char *next = step(at, part, n), *link = links < LINKS ? link_of(v, next) : NULL;

        part += n + (part[n] == '/');
        if (link) {
            char *more = mf_format("%s/%s", link, part);

            ++links;
            free(next);
            next = MF_MUST(strdup(*link == '/' ? "" : at), "a name");
            free(rest);
            part = rest = more;
        }
        free(link);
        free(at);
        at = next;
    }
    free(rest);
    return at;
}

/* ---- the view ---- */

/* A name of the container without "." and "..". */
static char *plain(const char *path, size_t n)
{
    const struct view nothing = {0};
    char *name = MF_MUST(strndup(path, n), "a name"), *is = mf_format("/%s", name), *at = place_of(&nothing, is);

    free(is);
    free(name);
    return at;
}

static void add_root(struct view *v, const char *mount)
{
    const size_t n = strcspn(mount, ":");
    const char *there = mount[n] ? mount + n + 1 : mount;
    struct root *root = &v->root[v->roots++];

    root->there = plain(there, strcspn(there, ":"));
    root->here = *mount == '/' ? MF_MUST(strndup(mount, n), "a name") : NULL;
}

static struct view open_view(const struct mf_job *job)
{
    struct view v = {.job = job, .root = MF_MUST(calloc(job->mounts + 1, sizeof *v.root), "mounts")};

    add_root(&v, job->folder);
    for (size_t i = 0; i < job->mounts; ++i) add_root(&v, job->mount[i]);
    return v;
}

static void close_view(struct view *v)
{
    for (size_t i = 0; i < v->roots; ++i) {
        free(v->root[i].there);
        free(v->root[i].here);
    }
    free(v->root);
}

/* ---- warnings ---- */

/* The folder to mount for @p path; heap. It is the nearest existing folder, else its own, which may exist on the nodes.
 * NULL: that would be everything, or cannot be mounted. */
static char *mount_of(const char *path)
{
    char *at = MF_MUST(strdup(path), "a name");
    struct stat is;

    while (*at && (stat(at, &is) != 0 || !S_ISDIR(is.st_mode))) {
        char *folder = folder_of(at);

        free(at);
        at = folder;
    }
    if (!*at) {
        free(at);
        at = folder_of(path);
    }
    if (*at && !strpbrk(at, ",:\n")) return at;
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
    return MF_MUST(fclose(to) == 0 ? text : NULL, "an option");
}

/* A path, or a link in the current folder; other words are none, whatever files have their names. */
static int names_file(const char *word)
{
    struct stat is;

    return strchr(word, '/') || (lstat(word, &is) == 0 && S_ISLNK(is.st_mode));
}

/* FILE or FILE:ARRAY. */
static void warn_of(const struct view *v, const char *given)
{
    const char *array;
    char *file, *place;

    mf_array_split(given, &file, &array);
    place = place_of(v, file);
    if (names_file(file) && !root_of(v, place)) {
        char *mount = mount_of(place), *advice = mount ? mount_option(mount) : NULL;

        mf_warn("'%s' is outside of what the container shows, the current folder and --mount; try: %s", given,
                advice ? advice : "a name in the current folder");
        free(advice);
        free(mount);
    }
    free(place);
    free(file);
}

static const char *behind_equals(const char *word)
{
    const char *equals = strchr(word, '=');

    return equals ? equals + 1 : NULL;
}

/* Is the value of this option, with or without it ("unit", "unit=um"), no file, whatever it looks like? */
static int is_no_file(const char *option)
{
    static const char *const names[] = {"dataset", "unit"};
    const size_t n = strcspn(option, "=");

    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strlen(names[i]) == n && strncmp(option, names[i], n) == 0) return 1;
    return 0;
}

/* FILE, NAME=FILE, "--option=FILE", "--option=NAME=FILE". */
static void warn_word(const struct view *v, const char *word)
{
    const char *file = strncmp(word, "--", 2) == 0 ? behind_equals(word) : word;

    for (; file; file = behind_equals(file)) warn_of(v, file);
}

static void warn_value(void *view, const char *word, const char *value, enum mf_origin origin)
{
    if (origin == MF_FROM_FILE && !is_no_file(word)) warn_word(view, value);
}

static void warn_words(const struct view *v, size_t first, const struct mf_words *words)
{
    for (size_t i = first; i < words->count; ++i) {
        const char *word = words->at[i];

        if (strncmp(word, "--", 2) == 0 && is_no_file(word + 2))
            i += !strchr(word, '='); /* and the word behind it */
        else
            warn_word(v, word);
    }
}

void mf_launch_warn_outside(const struct mf_job *job, size_t name, const struct mf_words *words,
                            const struct mf_options *options)
{
    struct view view = open_view(job);

    mf_log_open(0, 1, MF_WARN);
    warn_words(&view, name, words);
    mf_options_each(options, warn_value, &view);
    close_view(&view);
}
