/* See launch_job.h: the verb to launch, the check of its options, and each rank's command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/host/launch_job.h"

int mf_launch_verb_config(const char *config, struct mf_launch_verb *verb, struct mf_words *words)
{
    for (size_t i = verb->name; i < verb->words && strcmp(verb->word[i], "--") != 0; ++i)
        if (strcmp(verb->word[i], "--config") == 0 || strncmp(verb->word[i], "--config=", 9) == 0)
            return mf_fail(MF_USAGE, "--config is given twice: to launch, and to %s", verb->cmd->name);
    mf_words_all(words, verb->name, verb->word);
    mf_words_add(words, "--config");
    mf_words_add(words, config);
    mf_words_all(words, verb->words - verb->name, verb->word + verb->name);
    verb->words = words->count;
    verb->word = (const char *const *)words->at;
    return MF_OK;
}

int mf_launch_verb_find(size_t words, const char *const *word, struct mf_launch_verb *verb)
{
    *verb = (struct mf_launch_verb){.words = words, .word = word};
    verb->cmd = mf_cmd_find(words, word, &verb->name);
    if (!verb->cmd) return mf_cmd_none(words, word);
    if (!verb->cmd->alone) return MF_OK;
    return mf_fail(MF_USAGE, "launch cannot start '%s'; mesoforge help lists the verbs", verb->cmd->name);
}

/* A verb's options as one task of an array has them. */
struct task {
    struct mf_words words;
    struct mf_options *options;
    void *into;
};

/* The words as task @p number of an array has them. */
static void words_of(const struct mf_job *job, long number, const struct mf_launch_verb *verb, struct mf_words *to)
{
    for (size_t i = 0; i < verb->words; ++i) {
        char *text = NULL;
        size_t size;
        FILE *out = MF_MUST(open_memstream(&text, &size), "a command");
        const char *from = verb->word[i], *at;

        while (job->array && (at = strstr(from, "%a"))) {
            fprintf(out, "%.*s%ld", (int)(at - from), from, number);
            from = at + 2;
        }
        fputs(from, out);
        mf_words_add(to, MF_MUST(fclose(out) == 0 ? text : NULL, "a command"));
        free(text);
    }
}

/* Refusals of the verb's own words begin with its name. */
static int of_verb(const struct mf_cmd *cmd, int rc)
{
    char why[MF_ERR_TEXT];

    if (rc == MF_OK) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "%s: %s", cmd->name, why);
}

static int parse_task(const struct mf_launch_verb *verb, const struct mf_job *job, long number, struct task *t)
{
    const struct mf_cmd *cmd = verb->cmd;
    int rc;

    *t = (struct task){.into = MF_MUST(calloc(1, cmd->size), "options")};
    words_of(job, number, verb, &t->words);
    rc = mf_options_parse(&t->options, cmd->name, cmd->tables, cmd->keys, t->into, cmd->size,
                          (int)(verb->words - verb->name), t->words.at + verb->name, cmd->positional_max);
    if (rc == MF_OK && cmd->adopt) rc = cmd->adopt(t->options, t->into);
    return of_verb(cmd, rc);
}

static void free_task(struct task *t)
{
    mf_options_free(t->options);
    mf_words_free(&t->words);
    free(t->into);
}

/* Has the task the option @p word with this value? @p asked: as somebody gave it, not by default. */
static int has(const struct task *t, const char *word, const char *value, int asked)
{
    return mf_options_knows(t->options, word) && (!asked || mf_options_given(t->options, word)) &&
           strcmp(mf_options_value(t->options, word), value) == 0;
}

/* Adds an option that the verb has and that was not given. */
static void add_open(const struct mf_options *options, const char *word, const char *value, struct mf_words *command)
{
    if (!mf_options_knows(options, word) || mf_options_given(options, word)) return;
    mf_words_say(command, "--%s", word);
    mf_words_add(command, value);
}

/* The launcher's own options are options of the verb, where the verb has those. */
static const struct meaning {
    const char *launch, *option, *value;
} meanings[] = {{"--deepspeed", "zero", "2"}, {"--ddp", "zero", "0"}, {"--no-auto", "plan", "off"}};

enum { MEANINGS = sizeof meanings / sizeof *meanings };

static int is_meant(const struct mf_launch *o, size_t m)
{
    const int wanted[] = {o->deepspeed, o->ddp, o->no_auto};

    return wanted[m];
}

/* A configuration file may say otherwise; options and their files may not. */
static int check_meanings(const struct mf_launch *o, const struct task *t)
{
    for (size_t m = 0; m < MEANINGS; ++m) {
        const struct meaning *means = &meanings[m];
        enum mf_origin origin;

        if (!is_meant(o, m) || !mf_options_knows(t->options, means->option)) continue;
        origin = mf_options_origin(t->options, means->option);
        if (origin == MF_FROM_DEFAULT || origin == MF_FROM_FILE || has(t, means->option, means->value, 0)) continue;
        return mf_fail(MF_USAGE, "launch %s is --%s %s: it and --%s %s contradict each other", means->launch,
                       means->option, means->value, means->option, mf_options_value(t->options, means->option));
    }
    return MF_OK;
}

static void add_meanings(const struct mf_launch *o, const struct mf_options *options, struct mf_words *command)
{
    for (size_t m = 0; m < MEANINGS; ++m) {
        const char *option = meanings[m].option;

        if (!is_meant(o, m) || !mf_options_knows(options, option)) continue;
        if (mf_options_origin(options, option) >= MF_FROM_ENV) continue; /* it says the same */
        mf_words_say(command, "--%s", option);
        mf_words_add(command, meanings[m].value);
    }
}

static void add_more(const struct mf_launch *o, const struct mf_job *job, const struct mf_cmd *cmd,
                     const struct mf_options *options, struct mf_words *command)
{
    add_meanings(o, options, command);
    if (cmd->check_plan && o->plan) add_open(options, "plan", o->plan, command);
    if (cmd->checkpoints && job->by == MF_BY_SBATCH) add_open(options, "restart", "auto", command);
    if (!o->debug) return;
    if (!mf_options_knows(options, "debug"))
        for (const char *const *small = cmd->small; small && *small; small += 2)
            add_open(options, small[0], small[1], command);
    else if (!mf_options_given(options, "debug"))
        mf_words_add(command, "--debug");
    add_open(options, "logging-level", "10", command);
}

/* The plan that a run of these options would get, if it is a file that is here; else NULL. */
static const char *plan_of(const struct mf_launch *o, const struct task *t)
{
    const char *path = mf_options_given(t->options, "plan") ? mf_options_value(t->options, "plan") : o->plan;

    if (!path || strcmp(path, "auto") == 0 || strcmp(path, "off") == 0 || access(path, R_OK) != 0) return NULL;
    return path;
}

/* Runs the checks of the verb that need neither a file nor a device. Compares its plan with its options. */
static int check_values(const struct mf_launch *o, const struct mf_job *job, const struct mf_cmd *cmd,
                        const struct task *t)
{
    const long ranks = mf_launch_ranks(job);
    const int by_mpirun = job->by == MF_BY_MPIRUN || job->mpirun_inside || mf_job_wraps(job);
    struct mf_comm first;
    struct mf_verb_call call = {.session = {.comm = &first,
                                            .settings = mf_common_settings(t->into),
                                            .work = cmd->work,
                                            .ahead = by_mpirun ? "mpirun" : "srun"},
                                .common = t->into,
                                .options = t->options};

    mf_comm_dry(&first, 0, ranks > 0 ? (int)ranks : 1, 1);
    mf_log_open(0, 1, MF_QUIET); /* it says the rest when it runs */
    MF_TRY(mf_backend_find(&call.session.backend, "cpu"));
    MF_TRY(mf_common_check(t->into));
    if (mf_options_origin(t->options, "print-config") == MF_FROM_FLAG) return MF_OK;
    if (cmd->check) MF_TRY(cmd->check(&call.session, t->into));
    if (!cmd->check_plan || !plan_of(o, t)) return MF_OK;
    return cmd->check_plan(&call.session, t->into, plan_of(o, t), (size_t)ranks);
}

/* Says how the ranks use the GPUs that they get. */
static void say_gpus(const struct mf_job *job, const struct mf_cmd *cmd, const struct task *t)
{
    const struct mf_job_part *part = job->part;
    const struct mf_common *common = t->into;
    const int is_auto = strcmp(common->device, "auto") == 0;

    if (part->gpus == 0 || cmd->work == MF_WORK_NONE) return;
    mf_log_open(0, 1, MF_INFO);
    if (strncmp(common->device, "cuda", 4) == 0)
        mf_info("each rank takes a GPU (--device %s)", common->device);
    else if (!is_auto || cmd->work != MF_WORK_GPUS)
        mf_warn("%s takes the cores, and the GPUs stay idle; try: %s", cmd->name,
                is_auto ? "--device cuda" : "--device auto");
    else if (part->per_node > part->gpus && !common->share_gpu)
        mf_warn("the ranks take the cores: %ld ranks of a node cannot have one of %ld GPU%s each; try: --share-gpu",
                part->per_node, part->gpus, MF_S(part->gpus));
    else
        mf_info("each rank takes a GPU, or all take the cores where the plan or the driver says so (--device auto)");
}

/* Refuses --restart no in a script: Slurm would start the run again and again from its beginning. */
static int check_restart(const struct mf_job *job, const struct mf_cmd *cmd, const struct task *t)
{
    if (!cmd->checkpoints || job->by != MF_BY_SBATCH || !has(t, "restart", "no", 1)) return MF_OK;
    return mf_fail(MF_USAGE, "--restart no: Slurm requeues a script whose run stopped early, and the run would start "
                             "again each time; leave --restart out");
}

static const char *output_of(const struct task *t) { return ((const struct mf_common *)t->into)->output; }

/* Values that decide what its files are called. */
static char *names_of(const struct mf_cmd *cmd, const struct task *t)
{
    static const char *const always[] = {"data_folder", "information", NULL};
    const char *const *word, *const *of[] = {always, cmd->names};
    char *text = NULL;
    size_t size;
    const size_t n = mf_options_positional(t->options, &word);
    FILE *to = MF_MUST(open_memstream(&text, &size), "names");

    if (output_of(t)) fputs(output_of(t), to);
    for (size_t k = 0; k < 2 && !output_of(t); ++k)
        for (const char *const *name = of[k]; name && *name; ++name)
            fprintf(to, "%s\n", mf_options_value(t->options, *name));
    for (size_t i = 0; i < n && !output_of(t); ++i) fprintf(to, "%s\n", word[i]);
    return MF_MUST(fclose(to) == 0 ? text : NULL, "names");
}

static int differ(const struct mf_launch_verb *verb)
{
    for (size_t i = 0; i < verb->words; ++i)
        if (strstr(verb->word[i], "%a")) return 1;
    return 0;
}

/* Refuses an array whose tasks would all write the same file. */
static int check_apart(const struct mf_launch_verb *verb, const struct mf_job *job, const struct task *first,
                       long number)
{
    struct task other;
    int rc;

    if (!verb->cmd->writes && !output_of(first)) return MF_OK;
    if (!differ(verb)) return MF_OK; /* which is refused for more than its files */
    rc = parse_task(verb, job, number, &other);
    if (rc == MF_OK) {
        char *one = names_of(verb->cmd, first), *two = names_of(verb->cmd, &other);

        if (strcmp(one, two) == 0)
            rc = mf_fail(MF_USAGE, "all tasks of the array would write the same file: put %%a into --output "
                                   "(or --information, --data_folder), as in --output volume-%%a.h5");
        free(one);
        free(two);
    }
    free_task(&other);
    return rc;
}

/* Writes the command: the words as they were given, and before "--" the options that launch adds. */
static void write_command(const struct mf_launch *o, struct mf_job *job, const struct mf_launch_verb *verb,
                          struct task *first, struct mf_words *command)
{
    size_t end = 0;

    while (end < verb->words && strcmp(verb->word[end], "--") != 0) ++end;
    mf_words_all(command, end, verb->word);
    add_more(o, job, verb->cmd, first->options, command);
    mf_words_all(command, verb->words - end, verb->word + end);
    job->words = command->count;
    job->word = (const char *const *)command->at;
    job->says_end = verb->cmd->checkpoints && has(first, "max-hours", "auto", 0);
    add_more(o, job, verb->cmd, first->options, &first->words); /* a plan is looked for in the container as well */
    if (job->box != MF_BOX_NONE) mf_launch_warn_outside(job, verb->name, &first->words, first->options);
}

/* The whole command, with what launch has added: its options may contradict each other. */
static int check_whole(const struct mf_launch *o, const struct mf_job *job, const struct mf_launch_verb *verb,
                       long number, const struct mf_words *command)
{
    const struct mf_launch_verb whole = {verb->cmd, verb->name, command->count - 1,
                                         (const char *const *)command->at + 1};
    struct task t;
    int rc = parse_task(&whole, job, number, &t);

    if (rc == MF_OK) rc = of_verb(verb->cmd, check_values(o, job, verb->cmd, &t));
    free_task(&t);
    return rc;
}

int mf_launch_command(const struct mf_launch *o, struct mf_job *job, const struct mf_launch_verb *verb,
                      struct mf_words *command)
{
    const struct mf_cmd *cmd = verb->cmd;
    long number = 0, last = 0;
    struct task first;
    int rc;

    if (job->array) MF_TRY(mf_job_array(job->array, &number, &last));
    if (job->save_before > 0 && !cmd->checkpoints)
        return mf_fail(MF_USAGE,
                       "--save-before: %s writes no checkpoints, so Slurm's signal would end it; try: --save-before 0",
                       cmd->name);
    rc = parse_task(verb, job, number, &first);
    if (rc == MF_OK) rc = of_verb(cmd, check_restart(job, cmd, &first));
    if (rc == MF_OK) rc = of_verb(cmd, check_meanings(o, &first));
    if (rc == MF_OK) rc = of_verb(cmd, check_values(o, job, cmd, &first));
    if (rc == MF_OK && number != last) rc = check_apart(verb, job, &first, last);
    if (rc == MF_OK) {
        write_command(o, job, verb, &first, command);
        rc = mf_job_check(job);
        if (rc == MF_OK && (o->deepspeed || o->ddp || o->no_auto)) rc = check_whole(o, job, verb, number, command);
    }
    if (rc == MF_OK) say_gpus(job, cmd, &first);
    free_task(&first);
    return rc;
}
