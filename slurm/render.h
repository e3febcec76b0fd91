/* Renders a job as the command line or the batch script that starts it.
 * Rule: a user's words go in and out unchanged; only mf_words_print() quotes them for a shell. */
#ifndef MF_SLURM_RENDER_H
#define MF_SLURM_RENDER_H

#include "slurm/words.h"

enum { MF_JOB_PARTS = 8 };

enum mf_starter { MF_BY_MPIRUN, MF_BY_SRUN, MF_BY_SBATCH };

/** Where the program is: on the host, or in an image. Apptainer and Pyxis start it in every rank; docker, podman and
 * enroot start mpirun in one container of one node. */
enum mf_box { MF_BOX_NONE, MF_BOX_APPTAINER, MF_BOX_PYXIS, MF_BOX_DOCKER, MF_BOX_PODMAN, MF_BOX_ENROOT, MF_BOXES };
extern const char *const mf_box_names[MF_BOXES];

/** Nodes of one kind. 0: not said. */
struct mf_job_part {
    long nodes, ranks, per_node, cores, gpus; /* ranks of all these nodes; of a node; of a rank; of a node */
    const char *constraint;
    char gpu_type[64]; /* as Slurm names it; "": any */
};

/** Texts may be NULL: not said. What is said and would not be heeded is refused. */
struct mf_job {
    enum mf_starter by;
    int within;        /* a job of Slurm is around this: what srun starts is a step of it */
    int takes_all;     /* nobody said a number: it is all that the job around this has */
    int mpirun_inside; /* the script starts its ranks by mpirun, not by srun */
    size_t parts;      /* several: heterogeneous; sbatch alone */
    struct mf_job_part part[MF_JOB_PARTS];
    const char *hosts; /* mpirun: "a:4,b:4" */
    int uneven;        /* they take different numbers of ranks: mpirun fills one after the other */
    const char *mpi;   /* srun --mpi */
    const char *name, *time, *partition, *account, *qos, *memory, *array, *log;
    int exclusive;
    long save_before; /* [s] before its end Slurm asks the job to save itself */
    int says_end;     /* the run asks when that is (--max-hours auto): the script tells it */
    size_t more;
    const char *const *more_at; /* [more] further options of Slurm, without "--" */
    enum mf_box box;
    const char *image;
    const char *devices; /* "0,1": this job's GPUs here, as docker and podman name them; a script asks its own job */
    size_t mounts;
    const char *const *mount; /* [mounts] "DIR", "DIR:DIR" or "DIR:DIR:ro" */
    const char *folder;       /* the current one, mounted too */
    long user, group;         /* who starts it; of root mpirun asks for a word more */
    size_t words;
    const char *const *word; /* [words] what every rank runs, the program first */
};

/** "0-9,12-20:4%2": the number of the first task, and of the last that is another one (the same: there is one task).
 * MF_USAGE. */
int mf_job_array(const char *array, long *first, long *last);

/** Seconds of "MINUTES", "MINUTES:SECONDS", "HOURS:MINUTES:SECONDS", "DAYS-HOURS[:MINUTES[:SECONDS]]", as Slurm reads
 * a limit of time; 0: none (NULL, "0", "UNLIMITED"). */
long mf_job_seconds(const char *time);

/** Whether one mpirun in the container starts all ranks. */
int mf_job_wraps(const struct mf_job *job);

/** Has it GPUs, asked for or, where nobody said a number, had by the job around this? */
int mf_job_has_gpus(const struct mf_job *job);

/** Refuses with MF_USAGE what Slurm or a container would read as something else, and what does not go together. */
int mf_job_check(const struct mf_job *job);

/** The command that starts all ranks; of a script its line. After mf_job_check(). The caller frees. */
void mf_job_words(const struct mf_job *job, struct mf_words *words);

/** The batch script. @p maker: a line that says who wrote it. */
void mf_job_script(FILE *to, const struct mf_job *job, const char *maker);

#endif
