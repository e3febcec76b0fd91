/* Renders a job as the command line or the batch script that starts it.
 * Rule: a user's words go in and out unchanged; only mf_words_print() quotes them for a shell. */
#ifndef MF_SLURM_RENDER_H
#define MF_SLURM_RENDER_H

#include "slurm/box.h"

enum { MF_JOB_PARTS = 8 };

enum mf_starter { MF_BY_MPIRUN, MF_BY_SRUN, MF_BY_SBATCH };

/** Nodes of one kind. 0: not stated. */
struct mf_job_part {
    long nodes, ranks, per_node, cores, gpus; /* ranks on all these nodes; ranks a node; cores a rank; GPUs a node */
    const char *constraint;
    char gpu_type[64]; /* as Slurm names it; "": any */
};

/** A job to render. Texts may be NULL: not stated. A stated value that would have no effect is refused. */
struct mf_job {
    enum mf_starter by;
    int within;        /* this runs within a Slurm job: srun starts a step of it */
    int takes_all;     /* no number was stated: use all that the surrounding job has */
    int mpirun_inside; /* the script starts its ranks by mpirun, not by srun */
    size_t parts;      /* several: a heterogeneous job; sbatch only */
    struct mf_job_part part[MF_JOB_PARTS];
    const char *hosts; /* mpirun: "a:4,b:4" */
    int uneven;        /* hosts take different numbers of ranks, and mpirun fills one after the other */
    const char *mpi;   /* srun --mpi */
    const char *name, *time, *partition, *account, *qos, *memory, *array, *log;
    int exclusive;
    long save_before; /* [s] before its end, when Slurm asks the job to save its state */
    int says_end;     /* the script tells the run when the job ends (--max-hours auto) */
    size_t more;
    const char *const *more_at; /* [more] further options of Slurm, without "--" */
    enum mf_box box;
    const char *image;
    const char *devices;   /* "0,1": GPUs of this job, as docker and podman number them; a script asks its own job */
    enum mf_gpu_flag flag; /* how docker gives them; a script takes its option */
    size_t mounts;
    const char *const *mount; /* [mounts] "DIR", "DIR:DIR" or "DIR:DIR:ro" */
    const char *folder;       /* the current folder, which is mounted too */
    long user, group;         /* who starts it; mpirun asks root for one more option */
    size_t words;
    const char *const *word; /* [words] what every rank runs, the program first */
};

/** "0-9,12-20:4%2": the number of the first task, and of the last one other than the first. Both are equal where there
 * is one task. Refuses with MF_USAGE. */
int mf_job_array(const char *array, long *first, long *last);

/** Seconds in "MINUTES", "MINUTES:SECONDS", "HOURS:MINUTES:SECONDS", "DAYS-HOURS[:MINUTES[:SECONDS]]", as Slurm reads a
 * time limit. 0: no limit (NULL, "0", "UNLIMITED"). */
long mf_job_seconds(const char *time);

/** Does one mpirun inside the container start all ranks? */
int mf_job_wraps(const struct mf_job *job);

/** Has the job GPUs: those it asks for or, where no number is stated, those of the surrounding job? */
int mf_job_has_gpus(const struct mf_job *job);

/** Refuses with MF_USAGE what Slurm or a container would read differently, and combinations that do not work. */
int mf_job_check(const struct mf_job *job);

/** The command that starts all ranks; in a script, its line. Call mf_job_check() first. The caller frees @p words. */
void mf_job_words(const struct mf_job *job, struct mf_words *words);

/** Writes the batch script. @p maker: a line that names the program that wrote it. */
void mf_job_script(FILE *to, const struct mf_job *job, const char *maker);

#endif
