/* See launch_job.h: what every rank runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/cmd.h"
#include "src/cmd/launch_job.h"

/* The words as task @p number of an array has them. */
static void words_of(const struct mf_job *job, long number, size_t words, const char *const *word, struct mf_words *to)
{
    for (size_t i = 0; i < words; ++i) {
        char *text = NULL;
        size_t size;
        FILE *out = MF_MUST(open_memstream(&text, &size), "a command");
        const char *from = word[i], *at;

        while (job->array && (at = strstr(from, "%a"))) {
            fprintf(out, "%.*s%ld", (int)(at - from), from, number);
            from = at + 2;
        }
        fputs(from, out);
        if (fclose(out) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a command");
        mf_words_add(to, text);
        free(text);
    }
}

/* An option that the verb has and nobody gave. */
static void add_open(const struct mf_options *options, const char *word, const char *value, struct mf_words *command)
{
    if (!mf_options_knows(options, word) || mf_options_given(options, word)) return;
    mf_words_say(command, "--%s", word);
    mf_words_add(command, value);
}

static void add_more(const struct mf_launch *o, const struct mf_job *job, const struct mf_cmd *verb,
                     const struct mf_options *options, struct mf_words *command)
{
    if (verb->check_plan && o->plan) add_open(options, "plan", o->plan, command);
    if (verb->saves && job->by == MF_BY_SBATCH) add_open(options, "restart", "auto", command);
    if (!o->debug) return;
    add_open(options, "batch-size", "4", command);
    add_open(options, "max-iter", "20", command);
    add_open(options, "logging-level", "10", command);
}

/* A verb's options as one task of an array has them. */
struct task {
    struct mf_words words;
    struct mf_options *options;
    void *into;
};

static int parse_task(const struct mf_cmd *verb, const struct mf_job *job, long number, size_t words,
                      const char *const *word, struct task *t)
{
    *t = (struct task){.into = MF_MUST(calloc(1, verb->size), "options")};
    words_of(job, number, words, word, &t->words);
    return mf_options_parse(&t->options, verb->name, verb->tables, t->into, verb->size, (int)words - 1, t->words.at + 1,
                            verb->positional_max);
}

static int gives(const struct task *t, const char *word)
{
    return mf_options_knows(t->options, word) && mf_options_given(t->options, word);
}

static void free_task(struct task *t)
{
    mf_options_free(t->options);
    mf_words_free(&t->words);
    free(t->into);
}

/* The plan that a run of these options would get, if it is a file that is here; else NULL. */
static const char *plan_of(const struct mf_launch *o, const struct task *t)
{
    const char *path = mf_options_given(t->options, "plan") ? mf_options_value(t->options, "plan") : o->plan;

    if (!path || strcmp(path, "auto") == 0 || strcmp(path, "off") == 0 || access(path, R_OK) != 0) return NULL;
    return path;
}

/* What the verb says of its options before it reads a file, and of a plan that is to be its own. */
static int check_values(const struct mf_launch *o, const struct mf_job *job, const struct mf_cmd *verb,
                        const struct task *t)
{
    const long ranks = mf_launch_ranks(job);
    const int by_mpirun = job->by == MF_BY_MPIRUN || job->mpirun_inside || mf_job_wraps(job);
    struct mf_comm first;
    struct mf_session session = {.comm = &first,
                                 .common = t->into,
                                 .options = t->options,
                                 .looks = verb->looks,
                                 .ahead = by_mpirun ? "mpirun" : "srun"};

    mf_comm_dry(&first, 0, ranks > 0 ? (int)ranks : 1, 1);
    mf_log_open(0, 1, MF_QUIET); /* it says the rest when it runs */
    MF_TRY(mf_backend_find(&session.backend, "cpu"));
    MF_TRY(mf_common_check(t->into));
    if (mf_options_origin(t->options, "print-config") == MF_FROM_FLAG || !verb->check) return MF_OK;
    MF_TRY(verb->check(&session, t->into));
    if (!verb->check_plan || !plan_of(o, t)) return MF_OK;
    return verb->check_plan(&session, t->into, plan_of(o, t), (size_t)ranks);
}

/* Where Slurm may start it again, a run that never goes on would begin anew without end. */
static int check_restart(const struct mf_job *job, const struct mf_cmd *verb, const struct task *t)
{
    if (!verb->saves || job->by != MF_BY_SBATCH || !gives(t, "restart") ||
        strcmp(mf_options_value(t->options, "restart"), "no") != 0)
        return MF_OK;
    return mf_fail(MF_USAGE,
                   "--restart no: the script is put back into the queue when the run stops early (its time, STOP, "
                   "a lost node), and would begin anew each time; leave it out: where there are no checkpoints "
                   "beside --output the run begins at its start");
}

static int asks_end(const struct mf_cmd *verb, const struct task *t)
{
    return verb->saves && mf_options_knows(t->options, "max-hours") &&
           strcmp(mf_options_value(t->options, "max-hours"), "auto") == 0;
}

/* Everything that has a part in the name of what a task writes. */
static void add_name(void *to, const char *word, const char *value, enum mf_origin origin)
{
    static const char *const names[] = {"output",
                                        "data_folder",
                                        "information",
                                        "microstructure_filename",
                                        "microstructure_filenames",
                                        "descriptor_filename"};

    (void)origin;
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(word, names[i]) == 0) fprintf(to, "%s=%s\n", word, value);
}

static char *names_of(const struct task *t)
{
    char *text = NULL;
    const char *const *word;
    const char *output = ((const struct mf_common *)t->into)->output;
    size_t size, n = output ? 0 : mf_options_positional(t->options, &word);
    FILE *to = MF_MUST(open_memstream(&text, &size), "names");

    if (output)
        fputs(output, to);
    else
        mf_options_each(t->options, add_name, to);
    for (size_t i = 0; i < n; ++i) fprintf(to, "%s\n", word[i]);
    if (fclose(to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for names");
    return text;
}

static int differ(size_t words, const char *const *word)
{
    for (size_t i = 0; i < words; ++i)
        if (strstr(word[i], "%a")) return 1;
    return 0;
}

/* Two tasks of an array write two files, where they write any. */
static int check_apart(const struct mf_cmd *verb, const struct mf_job *job, size_t words, const char *const *word,
                       const struct task *first, long number)
{
    struct task other;
    char *names[2];
    int rc = MF_OK;

    if (!verb->writes && !((const struct mf_common *)first->into)->output) return MF_OK;
    if (!differ(words, word)) return MF_OK; /* which is refused for more than its files */
    rc = parse_task(verb, job, number, words, word, &other);
    if (rc == MF_OK) {
        names[0] = names_of(first);
        names[1] = names_of(&other);
        if (strcmp(names[0], names[1]) == 0)
            rc = mf_fail(MF_USAGE, "all tasks of the array would write the same file: put %%a into --output "
                                   "(or --information, --data_folder), as in --output volume-%%a.h5");
        free(names[0]);
        free(names[1]);
    }
    free_task(&other);
    return rc;
}

int mf_launch_command(const struct mf_launch *o, struct mf_job *job, size_t words, const char *const *word,
                      struct mf_words *command)
{
    const struct mf_cmd *verb = mf_cmd_find(word[0]);
    long number = 0, last = 0;
    struct task first;
    int rc;

    if (!verb || verb->alone)
        return mf_fail(MF_USAGE, "'%.100s' is no verb that can be started on ranks; mesoforge help lists verbs",
                       word[0]);
    if (job->array) MF_TRY(mf_job_array(job->array, &number, &last));
    if (job->save_before > 0 && !verb->saves)
        return mf_fail(MF_USAGE,
                       "--save-before: %s does not save itself, and Slurm's signal would end it; try: leave it out, or "
                       "--save-before 0",
                       verb->name);
    rc = parse_task(verb, job, number, words, word, &first);
    if (rc == MF_OK) rc = check_restart(job, verb, &first);
    if (rc == MF_OK) rc = check_values(o, job, verb, &first);
    if (rc == MF_OK && number != last) rc = check_apart(verb, job, words, word, &first, last);
    if (rc == MF_OK) {
        size_t end = 0;

        while (end < words && strcmp(word[end], "--") != 0) ++end;
        mf_words_all(command, end, word);
        add_more(o, job, verb, first.options, command);
        mf_words_all(command, words - end, word + end);
        job->says_end = asks_end(verb, &first);
        add_more(o, job, verb, first.options, &first.words); /* a plan is looked for in the container as well */
        if (job->box != MF_BOX_NONE) mf_launch_warn_outside(job, &first.words, first.options);
    }
    free_task(&first);
    return rc;
}
