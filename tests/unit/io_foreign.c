/* HDF5 of others: plain arrays are read. Anything that leads out of the file, needs a plug-in, claims too much or is no
 * number is refused. The folder of fixtures is argv[1]. */
#include "tests/check.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/array.h"
#include "io/guard.h"
#include "io/micro.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"

static struct mf_comm comm;
static struct mf_arena *arena;
static char path[1024];

static void labels(const char *dataset, int two)
{
    const struct mf_micro_read how = {.dataset = dataset};
    struct mf_micro m;
    size_t bad = 0;

    if (mf_micro_read(&comm, arena, path, &how, &m) != MF_OK) {
        fprintf(stderr, "%s: %s\n", dataset, mf_err_text());
        CHECK(0);
        return;
    }
    CHECK(m.phases == (two ? 2 : 3) && m.slab.dims[0] == 3 && m.slab.dims[1] == 13 && m.slab.dims[2] == 17);
    for (size_t i = 0; i < mf_slab_voxels(&m.slab); ++i) {
        size_t label = (i / 221 + i / 17 % 13 + i % 17) % 3;

        bad += m.phase[i] != (two ? label > 0 : label);
    }
    CHECK(bad == 0);
    mf_micro_free(&m);
}

static void refused(const char *dataset, const char *word)
{
    const struct mf_micro_read how = {.dataset = dataset, .threshold = "0.5"};
    struct mf_micro m;
    int rc = mf_micro_read(&comm, arena, path, &how, &m);

    if (rc == MF_INPUT && strstr(mf_err_text(), word)) return;
    fprintf(stderr, "%s: code %d '%s', want '%s'\n", dataset ? dataset : "-", rc, mf_err_text(), word);
    CHECK(0);
}

static int crash(void *context, FILE *to)
{
    (void)context, (void)to;
    abort();
}

/* 5 s of processor time. On a busy machine the ticks that a limit counts may be a second away from it. */
static int linger(void *context, FILE *to)
{
    (void)context, (void)to;
    while ((double)clock() < 5.0 * CLOCKS_PER_SEC) {}
    return MF_OK;
}

static int spin(void *context, FILE *to)
{
    volatile unsigned long turns = 1;

    (void)context, (void)to;
    while (turns) turns |= 1;
    return MF_OK;
}

static int refuse(void *context, FILE *to)
{
    (void)context, (void)to;
    return mf_fail(MF_NUMERIC, "as the child says");
}

/* A signal of a scheduler to every process of a step. */
static int told(void *context, FILE *to)
{
    const int number[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};

    (void)context, (void)to;
    for (int i = 0; i < 4; ++i) (void)kill(getpid(), number[i]);
    return mf_fail(MF_NUMERIC, "decoded all the same");
}

static int ended(void *context, FILE *to)
{
    (void)to;
    (void)kill(getpid(), *(const int *)context);
    return MF_OK;
}

/* A signal that the parent does not heed ends the child, which says nothing about the file. One it heeds is the
 * parent's. */
static void signals(void)
{
    int term = SIGTERM, sure = SIGKILL;

    CHECK(mf_guard("x", 5, ended, NULL, &term) == MF_INPUT && strstr(mf_err_text(), "ended by signal 15"));
    CHECK(mf_guard("x", 5, ended, NULL, &sure) == MF_INPUT && strstr(mf_err_text(), "ended by signal 9"));
    mf_stop_ends(); /* and heeds only to clear files away */
    CHECK(mf_guard("x", 5, ended, NULL, &term) == MF_INPUT && strstr(mf_err_text(), "ended by signal 15"));
    mf_stop_on_signals();
    CHECK(mf_guard("x", 5, told, NULL, NULL) == MF_NUMERIC && strstr(mf_err_text(), "all the same"));
    CHECK(mf_guard("x", 1, spin, NULL, NULL) == MF_INPUT && strstr(mf_err_text(), "too long"));
    CHECK(mf_stop_signal() == 0);
}

/* A child can do nothing to its parent. */
static void guards(void)
{
    CHECK(mf_guard("x", 5, crash, NULL, NULL) == MF_INPUT && strstr(mf_err_text(), "decodes it failed"));
    CHECK(mf_guard("x", 1, spin, NULL, NULL) == MF_INPUT && strstr(mf_err_text(), "too long"));
    CHECK(mf_guard("x", 5, refuse, NULL, NULL) == MF_NUMERIC && strcmp(mf_err_text(), "as the child says") == 0);
    if (SANITIZED) return;                                   /* they know no time */
    CHECK(mf_guard("long", 7, linger, NULL, NULL) == MF_OK); /* some of its time is gone when it is opened again */
    CHECK(mf_guard("long", 7, linger, NULL, NULL) == MF_INPUT && strstr(mf_err_text(), "too long"));
}

int main(int argc, char **argv)
{
    NEEDS(1, "FOLDER");
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    mf_comm_self(&comm);
    mf_log_open(0, 1, MF_QUIET);
    snprintf(path, sizeof path, "%s/foreign.h5", argv[1]);
    labels("/a/b", 0);
    labels("a/b", 0);
    labels("bool", 1);
    refused(NULL, "several arrays, name one as FILE:ARRAY: a/b, bool, ");
    refused("none", "no /none");
    refused("a", "no dataset");
    refused("soft", "/soft is a soft link, which is not followed; try: ");
    refused("out", "/out leads to another file, where no link is followed; try: ");
    refused("text", "numbers");
    refused("vec", "axis");
    refused("lzf", "/lzf is compressed by lzf, not deflate or szip; try: compression=\"gzip\" in h5py");
    refused("virtual", "lie in other files; try: h5repack -l CONTI");
    refused("huge", "more values");
    refused("unwritten", "missing values");
    refused("external", "other files");
    snprintf(path, sizeof path, "%s/newer.h5", argv[1]);
    refused("gzip", "/gzip is there, but its layout is that of a newer HDF5 than ");
    refused("bool", "/bool is there, but its datatype is that of a newer HDF5");
    guards();
    signals();
    mf_arena_close(arena);
    return failures != 0;
}
