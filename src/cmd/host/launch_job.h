/* Makes a job from the options of launch. It says who starts it, how many ranks run where, and each rank's command
 * line. An impossible job is refused here, before it waits in a queue. */
#ifndef MF_CMD_HOST_LAUNCH_JOB_H
#define MF_CMD_HOST_LAUNCH_JOB_H

#include "slurm/launcher.h"
#include "slurm/render.h"
#include "src/cmd/cmd.h"

/** The options. Options that a job takes unchanged are in @p job. */
struct mf_launch {
    struct mf_job job;
    /* how many, where */
    const char *plan, *constraint;
    int launcher;              /* 1 + enum mf_starter; 0: auto */
    const char *gpus_per_node; /* "[TYPE:]NUMBER" */
    long nodes, ranks, per_node, cores, gpus;
    struct mf_texts also;
    int deepspeed, ddp, no_auto, debug, mpirun;
    const char *config;   /* of the verb */
    struct mf_texts more; /* further options of Slurm */
    /* containers */
    const char *container, *program;
    struct mf_texts mounts;
    /* what happens */
    int run, dry_run;
};

/** A job and the texts it points into. */
struct mf_launch_job {
    struct mf_job job;
    struct mf_words given, command, mounts;
    char name[64], folder[4096];
};

/** The verb to start: the first @p name words of each rank's command line are its name. */
struct mf_launch_verb {
    const struct mf_cmd *cmd;
    size_t name, words;
    const char *const *word; /* [words] */
};

/** Finds it. MF_USAGE: no verb, or one that does not run on ranks. */
int mf_launch_verb_find(size_t words, const char *const *word, struct mf_launch_verb *verb);

/** Puts --config behind the verb's name, by @p words, which the caller frees. MF_USAGE: it has one. */
int mf_launch_verb_config(const char *config, struct mf_launch_verb *verb, struct mf_words *words);

/** Decides who starts the ranks, where and how many. MF_USAGE, MF_INPUT (--plan), MF_DEVICE (missing GPUs). */
int mf_launch_place(const struct mf_launch *o, const struct mf_launcher *here, struct mf_job *job);

/** Ranks on all nodes. Without numbers: the tasks of the job that this runs in; 0: unknown. */
long mf_launch_ranks(const struct mf_job *job);

/**
 * Checks the verb's options as the verb does, and writes each rank's command line. Adds --plan, in a script --restart
 * auto, and what --deepspeed, --ddp, --no-auto and --debug mean for the verb. Completes and checks the job, and says
 * what its ranks do with their GPUs. MF_USAGE, MF_INPUT.
 */
int mf_launch_command(const struct mf_launch *o, struct mf_job *job, const struct mf_launch_verb *verb,
                      struct mf_words *command);

/** Refuses (MF_USAGE), or warns of, a log in a folder that does not exist. Slurm ends such a job without a message. */
int mf_launch_log_check(const struct mf_job *job, int is_submitted);

/** Writes the mounts of a container as absolute paths: MF_USAGE. */
int mf_launch_mount(const struct mf_texts *mounts, struct mf_launch_job *l);

/** Warns of files that are not visible in the container. These are words behind the @p name words of the verb, and
 * files named in its configuration file. */
void mf_launch_warn_outside(const struct mf_job *job, size_t name, const struct mf_words *words,
                            const struct mf_options *options);

#endif
