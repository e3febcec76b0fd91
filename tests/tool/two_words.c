/* The program with verbs of two words, which it does not have itself: another table of verbs for src/main.c. They are
 * what launch asks most of: they save themselves and take plans. */
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/cmd/cmd.h"

struct data {
    struct mf_common common;
    const char *plan, *restart, *max_hours, *folder;
};

static const struct mf_opt rows[] = {MF_OPT(data, "plan", plan, MF_TEXT, "auto", "a plan"),
                                     MF_OPT(data, "restart", restart, MF_TEXT, "no", "no or auto"),
                                     MF_OPT(data, "max-hours", max_hours, MF_TEXT, "0", "hours, or auto"),
                                     MF_OPT(data, "results-dir", folder, MF_TEXT, "run", "where results go"),
                                     MF_OPT_END};
static const char *const names[] = {"results-dir", NULL}, *const small[] = {"results-dir", "few", NULL};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int check_plan(const struct mf_session *session, const void *options, const char *plan, size_t ranks)
{
    (void)session;
    return mf_fail(MF_INPUT, "'%s' is no plan of %zu ranks for %s", plan, ranks,
                   ((const struct data *)options)->restart);
}

static int run(struct mf_session *session, void *options)
{
    const char *const *word;
    const size_t n = mf_arguments(session, &word);

    (void)options;
    if (n == 0) return mf_fail(MF_INPUT, "nothing to import");
    if (session->comm->rank == 0) printf("%s on %d\n", word[0], session->comm->size);
    return MF_OK;
}

#define ROW(verb)                                                                                                 \
    {                                                                                                             \
        .name = verb, .summary = "a verb of two words", .synopsis = "FILE", .tables = tables,                     \
        .size = sizeof(struct data), .positional_max = 1, .check_plan = check_plan, .run = run, .checkpoints = 1, \
        .writes = 1, .names = names, .small = small,                                                              \
    }

static const struct mf_cmd import = ROW("data import"), export = ROW("data export"), data = ROW("alone");

const struct mf_cmd *const mf_cmds[] = {&data, &export, &import, &mf_cmd_launch, &mf_cmd_match, &mf_cmd_plan_match,
                                        NULL};
