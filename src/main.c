/* The program. It finds the verb, parses its options on every rank, opens a session and runs the verb. After a refusal
 * it prints one line. All ranks leave with the same exit status. */
#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/h5.h"
#include "kernels/cores.h"
#include "mpi/launched.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "src/cmd/about.h"
#include "src/cmd/cmd.h"
#include "src/cmd/log_view.h"
#include "src/cmd/same.h"

enum { START_MOST = 60 /* seconds, after a signal */ };

#define SPINS "3000" /* some 10 us: longer than between two kernels of a small run */

/* Is this rank 0? The launcher says it before MPI can. */
static int is_first(void)
{
    const char *rank = mf_launched_rank();

    return !rank || strcmp(rank, "0") == 0;
}

/* Prints the one line of a refusal. Control characters of file names in it become '?'. */
static void complain(const char *verb)
{
    char line[MF_ERR_TEXT];

    snprintf(line, sizeof line, "%s", mf_err_text());
    for (char *c = line; *c; ++c)
        if (iscntrl((unsigned char)*c)) *c = '?';
    (void)fflush(stdout); /* what was printed stands before it, in one file too */
    fprintf(stderr, "mesoforge: %s%s%s\n", verb, *verb ? ": " : "", line);
}

/* launch refused an option of the verb that it is to start: the "--" between them is missing. */
static int without_dashes(const struct mf_cmd *verb, int rc, int argc, char **argv)
{
    const struct mf_cmd *started = NULL;
    char text[MF_ERR_TEXT];

    for (int i = 0; i < argc; ++i) {
        size_t used;

        if (strcmp(argv[i], "--") == 0) return rc;
        if (!started && !(i > 0 && mf_options_takes(verb->tables, argv[i - 1])))
            started = mf_cmd_find((size_t)(argc - i), (const char *const *)argv + i, &used);
    }
    if (!started) return rc;
    mf_err_take(text, sizeof text); /* its advice is about the wrong verb */
    return mf_fail(rc, "%s; what is started stands behind '--': try: -- %s", text, started->name);
}

static int heed_environment(struct mf_options *options, const struct mf_common *common)
{
    MF_TRY(mf_options_env(options, "logging_level", "MESOFORGE_LOG"));
    if (mf_options_origin(options, "logging_level") != MF_FROM_ENV) return MF_OK;
    if (common->logging_level >= 0 && common->logging_level <= 50) return MF_OK;
    return mf_fail(MF_USAGE, "MESOFORGE_LOG must be 0 to 50, not %ld", common->logging_level);
}

/* Local: options from arguments, file and environment. */
static int parse(const struct mf_cmd *verb, struct mf_options **options, void *into, int argc, char **argv)
{
    int rc = mf_options_parse(options, verb->name, verb->tables, verb->keys, into, verb->size, argc, argv,
                              verb->positional_max);

    if (verb == &mf_cmd_launch) return rc == MF_OK ? rc : without_dashes(verb, rc, argc, argv);
    if (verb->alone) return rc;
    if (rc == MF_OK) rc = heed_environment(*options, into);
    return rc == MF_OK && verb->adopt ? verb->adopt(*options, into) : rc;
}

/* Local: refuses where the output could not be written. */
static int flush_output(int rc)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return rc;
    return rc != MF_OK ? rc : mf_fail(MF_OUTPUT, "cannot write to standard output");
}

/* Prints the phases, also of a run that was stopped early, and keeps the sentence of the refusal. */
static int view_log(const struct mf_session *session, int rc)
{
    char text[MF_ERR_TEXT];
    int printed;

    snprintf(text, sizeof text, "%s", mf_err_text());
    printed = mf_log_view_print(session);
    return rc == MF_OK ? printed : mf_fail(rc, "%s", text);
}

/* Runs the verb on all ranks, whose options are the same. */
static int run_session(const struct mf_cmd *verb, struct mf_session *session, void *into)
{
    int rc;

    if (mf_options_origin(mf_options_of(session), "print-config") == MF_FROM_FLAG) {
        if (session->comm->rank == 0) mf_options_print(mf_options_of(session));
        return mf_agree(session->comm, flush_output(MF_OK));
    }
    rc = mf_common_begin(session);
    if (rc == MF_OK && verb->check) rc = mf_agree(session->comm, verb->check(session, into));
    if (rc == MF_OK) rc = mf_common_open(session);
    if (rc == MF_OK) rc = mf_agree(session->comm, verb->run(session, into));
    if (rc == MF_OK || rc == MF_STOPPED) rc = view_log(session, rc);
    rc = mf_agree(session->comm, flush_output(rc));
    mf_common_end(session);
    return rc;
}

/* A verb and its parsed options on this rank; rc: what parsing returned. */
struct asked {
    const struct mf_cmd *verb;
    struct mf_options *options;
    void *into;
    int rc;
};

static int run_ranks(const struct asked *asked, struct mf_comm *comm, double start)
{
    struct mf_verb_call call = {
        .session = {.comm = comm, .start = start, .work = asked->verb->work, .remedy = asked->verb->remedy},
        .common = asked->into,
        .options = asked->options};

    MF_TRY(mf_agree(comm, asked->rc));
    MF_TRY(mf_same_options(comm, asked->options));
    return run_session(asked->verb, &call.session, asked->into);
}

/* Opens MPI and runs the verb on its ranks. */
static int run_world(const struct asked *asked, double start)
{
    const struct mf_common *common = asked->into;
    struct mf_comm comm;
    int rc, strays;

    if (asked->verb->checkpoints)
        mf_stop_ahead(START_MOST);
    else
        mf_stop_ends();
    if (asked->rc == MF_OK && common->timeout >= 0) mf_comm_patience((double)common->timeout);
    mf_h5_begin();
    mf_comm_task(asked->verb->name);
    rc = mf_comm_open(&comm, NULL, NULL, asked->verb->diagnoses ? MF_VERSION : mf_about_build());
    strays = asked->verb->diagnoses && mf_comm_strays(&comm) > 0;
    if (strays) rc = MF_OK; /* and one of them speaks: the others are no ranks of anything */
    if (rc == MF_OK && !(strays && comm.rank > 0)) rc = run_ranks(asked, &comm, start);
    if (rc != MF_OK && comm.rank == 0) complain(asked->verb->name);
    mf_comm_close(&comm);
    if (mf_child_heard()) mf_stop_end(mf_child_heard()); /* it was held until all was cleared away */
    return rc;
}

/* Runs a verb that uses no MPI: on one process, without a session. */
static int run_alone(const struct asked *asked)
{
    int rc = asked->rc;

    mf_log_open(0, 1, MF_WARN);
    if (rc == MF_OK && mf_options_origin(asked->options, "print-config") == MF_FROM_FLAG)
        mf_options_print(asked->options);
    else if (rc == MF_OK)
        rc = asked->verb->alone(asked->options, asked->into);
    rc = flush_output(rc);
    if (rc != MF_OK) complain(asked->verb->name);
    return rc;
}

static int run(const struct mf_cmd *verb, int argc, char **argv, double start)
{
    struct asked asked = {.verb = verb, .into = MF_MUST(calloc(1, verb->size), "options")};
    int rc;

    asked.rc = parse(verb, &asked.options, asked.into, argc, argv);
    rc = verb->alone ? run_alone(&asked) : run_world(&asked, start);
    mf_options_free(asked.options);
    free(asked.into);
    return rc;
}

/* Refuses on all ranks: other ranks may have been started with a verb, and would wait for this one. */
static int run_none(size_t n, const char *const *words)
{
    struct mf_comm comm;
    int rc;

    mf_comm_task(n > 0 ? words[0] : "");
    rc = mf_comm_open(&comm, NULL, NULL, mf_about_build());
    if (rc == MF_OK) rc = mf_agree(&comm, mf_cmd_none(n, words));
    if (comm.rank == 0) complain("");
    mf_comm_close(&comm);
    return rc;
}

/* Prints help, a manual page or versions, on rank 0. */
static int tell(size_t n, const char *const *words)
{
    int rc = MF_OK;

    if (is_first()) rc = flush_output(mf_about(n, words));
    if (rc != MF_OK) complain("");
    return rc;
}

/* Do other programs keep half of the cores busy? Looks a few times at the number of running processes. */
static int is_busy(void)
{
    enum { LOOKS = 5, APART = 1000000 /* ns */ };
    const struct timespec pause = {0, APART};
    long running = 0;

    for (int i = 0; i < LOOKS; ++i) {
        FILE *file = fopen("/proc/loadavg", "r"); /* three means, then "RUNNING/ALL", this process among them */
        char line[128] = "", *at = line;

        if (!file) return 0;
        if (fgets(line, sizeof line, file))
            for (int word = 0; at && word < 3; ++word) at = strchr(at + 1, ' ');
        if (at && *at == ' ') running += strtol(at, NULL, 10) - 1;
        (void)fclose(file);
        nanosleep(&pause, NULL);
    }
    return 2 * running >= LOOKS * sysconf(_SC_NPROCESSORS_ONLN);
}

/* OpenMP threads spin while they wait for each other. On a busy machine they take cores from working threads, so they
 * should spin only briefly. GCC's OpenMP reads the limit before main() begins. So the program starts itself again. */
static void wait_briefly(char **argv)
{
    char path[4096];

    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY") || !is_busy()) return;
    mf_child_self(path, sizeof path);
    if (!*path || setenv("GOMP_SPINCOUNT", SPINS, 1) != 0) return;
    mf_cores_release();
    execv(path, argv); /* where that fails, it goes on as it is */
}

int main(int argc, char **argv)
{
    const double start = mf_now();
    const char *const *words = (const char *const *)argv + 1;
    const size_t n = argc > 1 ? (size_t)argc - 1 : 0;
    const struct mf_cmd *verb;
    size_t used;

    (void)signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f`: the write says it */
    (void)signal(SIGCHLD, SIG_DFL); /* who started this may ignore it: children's ends would be lost */
    if (mf_about_asked(n, words)) return tell(n, words);
    verb = mf_cmd_find(n, words, &used);
    if (!verb) return run_none(n, words);
    if (verb->alone && !is_first()) return MF_OK;
    if (!verb->alone) wait_briefly(argv);
    return run(verb, (int)(n - used), argv + 1 + used, start);
}
