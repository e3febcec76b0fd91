/* A session opens alike on all ranks, refuses once, finds its cores, gathers peaks and names output files. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/output.h"
#include "src/session/cores.h"
#include "src/session/peaks.h"
#include "tests/check.h"

static struct mf_comm comm;
static struct mf_common common;
static const struct mf_opt *const tables[] = {mf_common_opts, NULL};

/* Opens a session on these words and, when it opened, hands it to @p use. */
static int with(int argc, char **argv, void (*use)(struct mf_session *))
{
    struct mf_options *options = NULL;
    struct mf_verb_call call = {.session = {.comm = &comm, .remedy = "fewer words"}, .common = &common};
    int rc = mf_options_parse(&options, "test", tables, NULL, &common, sizeof common, argc, argv, 0);

    if (rc != MF_OK) return rc;
    call.options = options;
    rc = mf_common_begin(&call.session);
    if (rc == MF_OK) rc = mf_common_open(&call.session);
    if (rc == MF_OK) use(&call.session);
    mf_common_end(&call.session);
    mf_options_free(options);
    return rc;
}

static void nothing(struct mf_session *session) { CHECK(session->threads >= 1); }

static void full(struct mf_session *session)
{
    CHECK(!mf_arena_take(session->arena, (size_t)2 << 20, "test") && strstr(mf_err_text(), "fewer words"));
    mf_err_clear();
}

/* Bytes of the address checker beside every 8 bytes, which the system counts. */
#ifdef __SANITIZE_ADDRESS__
static const double checker = 1.0 / 8;
#else
static const double checker = 0;
#endif

static void peaks(struct mf_session *session)
{
    struct mf_peaks peaks;
    size_t bytes = ((size_t)40 << 20) * (size_t)(comm.rank + 1);
    void *memory = mf_arena_take(session->arena, bytes, "test");

    CHECK(memory != NULL);
    if (memory) memset(memory, 1, bytes);
    mf_arena_give(session->arena, memory);
    CHECK(mf_peaks_of(session, &peaks) == MF_OK && peaks.ranks == comm.size && !peaks.predicted);
    CHECK(!peaks.device && session->device == session->arena);
    for (int r = 0; r < comm.size; ++r) {
        CHECK(peaks.arena[r] >= (40 << 20) * (r + 1));
        CHECK_NEAR(peaks.rss[r], peaks.arena[r], (4 << 20) + checker * peaks.arena[r]);
    }
    mf_peaks_free(&peaks);
    session->predicted = 7 + comm.rank;
    CHECK(mf_peaks_of(session, &peaks) == MF_OK && peaks.predicted && peaks.predicted[0] == 7);
    mf_peaks_free(&peaks);
}

static void paths(struct mf_session *session)
{
    char *path = NULL;

    CHECK(mf_session_path(session, "cube", ".h5", &path) == MF_OK);
    CHECK(strcmp(path, "out_session/a/cube_x.h5") == 0 && access("out_session/a", W_OK) == 0);
    free(path);
}

static void output(struct mf_session *session)
{
    char *path = NULL;

    CHECK(mf_session_path(session, "cube", ".h5", &path) == MF_OK && strcmp(path, "here.npy") == 0);
    free(path);
}

#define WITH(use, ...) with((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)), (char *[]){__VA_ARGS__}, use)

int main(int argc, char **argv)
{
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    CHECK(mf_session_cores(&comm) >= 1);
    CHECK(WITH(nothing, "--threads", "2", "--memory_limit", "100") == MF_OK);
    CHECK(WITH(full, "--memory_limit", "1") == MF_OK);
    CHECK(WITH(peaks, "--device=cpu", "--share-gpu") == MF_OK);
    CHECK(WITH(paths, "--data_folder", "out_session/a/", "--information", "x", "--logfile_name", "log") == MF_OK);
    CHECK(access("out_session/a/log.log", R_OK) == 0);
    CHECK(WITH(output, "--output", "here.npy") == MF_OK);
    CHECK(WITH(nothing, "--threads", "-1") == MF_USAGE);
    CHECK(WITH(nothing, "--gpu_ids", "0", "1") == MF_DEVICE && strstr(mf_err_text(), "--gpu_ids 0"));
    CHECK(WITH(nothing, "--device", "abacus") == MF_USAGE);
    CHECK(WITH(paths, "--data_folder", "/dev/null/x", "--logfile_name", "log") == MF_OUTPUT);
    mf_comm_close(&comm);
    return failures != 0;
}
