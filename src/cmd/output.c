/* See output.h. */
#include "src/cmd/output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/nrrd.h"
#include "src/base/err.h"
#include "src/base/text.h"

int mf_output_terminal(void) { return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO); }

int mf_output_folder(const char *path, const char *remedy)
{
    char *copy = MF_MUST(strdup(path), "a name");
    int rc = MF_OK;

    for (char *at = copy; rc == MF_OK && at;) {
        at = strchr(at + 1, '/');
        if (at) *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            rc = mf_fail(MF_OUTPUT, "cannot make folder '%s': %s; try: %s", copy, strerror(errno), remedy);
        if (at) *at = '/';
    }
    free(copy);
    return rc;
}

char *mf_output_join(const char *folder, const char *base, const char *infix, const char *suffix)
{
    const char *slash = *folder && folder[strlen(folder) - 1] != '/' ? "/" : "";

    return mf_format("%s%s%s%s%s%s", folder, slash, base, infix ? "_" : "", infix ? infix : "", suffix);
}

/* The name to which a link points, one step; @p path itself if it is none. */
static char *follow_once(const char *path, int *is_link)
{
    char target[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target - 1);

    *is_link = n > 0;
    if (n <= 0) return mf_format("%s", path);
    target[n] = '\0';
    if (target[0] == '/') return mf_format("%s", target);
    return mf_format("%.*s%s", (int)(mf_name_base(path) - path), path, target);
}

/* Where the output is a link, the file to which it points is written, and the link stays. Rank 0. */
static int follow(char **path)
{
    enum { STEPS = 40 };
    int is_link = 1;

    for (int k = 0; k < STEPS && is_link; ++k) {
        char *next = follow_once(*path, &is_link);

        free(*path);
        *path = next;
    }
    return is_link ? mf_fail(MF_OUTPUT, "cannot write '%s': its links lead to no file", *path) : MF_OK;
}

static int follow_all(const struct mf_comm *comm, char **path)
{
    const int rc = mf_agree(comm, comm->rank == 0 ? follow(path) : MF_OK);
    char *told = rc == MF_OK ? mf_comm_text(comm, *path) : NULL;

    free(*path);
    *path = told;
    return rc;
}

int mf_session_path_in(const struct mf_session *session, const char *folder, const char *base, const char *suffix,
                       char **path)
{
    const struct mf_common *common = mf_common_of(session);
    const char *remedy =
        folder == common->data_folder ? MF_OUTPUT_ELSEWHERE : "--output FILE, or another --results-dir";
    int rc = MF_OK;

    if (common->output) {
        *path = mf_output_join("", common->output, NULL, "");
        return follow_all(session->comm, path);
    }
    if (session->comm->rank == 0 && *folder && !common->dry_run) rc = mf_output_folder(folder, remedy);
    MF_TRY(mf_agree(session->comm, rc));
    *path = mf_output_join(folder, base, common->information, suffix);
    return follow_all(session->comm, path);
}

int mf_session_name(const struct mf_session *session, const char *base, const char *suffix, char **path)
{
    const struct mf_common *common = mf_common_of(session);

    *path = common->output ? mf_output_join("", common->output, NULL, "")
                           : mf_output_join(common->data_folder, base, common->information, suffix);
    return follow_all(session->comm, path);
}

int mf_session_path(const struct mf_session *session, const char *base, const char *suffix, char **path)
{
    return mf_session_path_in(session, mf_common_of(session)->data_folder, base, suffix, path);
}

static int check_apart(const char *path, const char *input)
{
    struct stat out, in;

    if (stat(path, &out) != 0 || stat(input, &in) != 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return MF_OK;
    return mf_fail(MF_USAGE, "the output '%s' is the input '%s': give it another name", path, input);
}

/* Values in a separate file must not replace an input, nor the separate values of an input. */
static int check_values(const char *path, const char *input)
{
    char *values = mf_nrrd_values(path), data[MF_DATASET_TEXT];
    int rc = check_apart(values, input);

    if (rc == MF_OK) mf_array_apart(input, data);
    if (rc == MF_OK && data[0]) rc = check_apart(values, data);
    free(values);
    return rc;
}

static int check_spared(const char *path, size_t n, const char *const *inputs)
{
    for (size_t i = 0; i < n; ++i) {
        const char *array;
        char *file;
        int rc;

        if (!inputs[i] || !*inputs[i]) continue;
        mf_array_split(inputs[i], &file, &array);
        rc = check_apart(path, file);
        if (rc == MF_OK && mf_ends_with(path, ".nhdr")) rc = check_values(path, file);
        free(file);
        MF_TRY(rc);
    }
    return MF_OK;
}

int mf_session_spares(const struct mf_session *session, const char *path, size_t n, const char *const *inputs)
{
    const char *config = mf_options_config(mf_options_of(session));
    int rc = MF_OK;

    if (session->comm->rank == 0) {
        rc = check_spared(path, n, inputs);
        if (rc == MF_OK) rc = check_spared(path, 1, &config);
    }
    return mf_agree(session->comm, rc);
}

static int check_path(const char *path, const char *ending)
{
    if (!mf_ends_with(path, ending))
        return mf_fail(MF_USAGE, "cannot write '%s': its name must end with %s", path, ending);
    return mf_atomic_may(path);
}

int mf_session_may_write(const struct mf_session *session, const char *path, const char *ending)
{
    if (!path) return MF_OK;
    MF_TRY(mf_agree(session->comm, session->comm->rank == 0 ? check_path(path, ending) : MF_OK));
    return mf_session_spares(session, path, 0, NULL);
}

int mf_session_may_accompany(const struct mf_session *session, const char *output, const char *beside)
{
    int rc = MF_OK;

    if (session->comm->rank == 0 && access(beside, F_OK) == 0 && access(output, F_OK) != 0)
        rc = mf_fail(MF_OUTPUT, "'%s', which is written beside '%s', is there already; try: another folder", beside,
                     output);
    return mf_agree(session->comm, rc);
}
