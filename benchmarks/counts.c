/* Time of the measures that peers have as well, by all ranks: least of ROUNDS. The field is already in memory. Prints
 * one JSON object, what was counted included, for peers/porespy_run.py.
 *
 *   mpirun -n R bench_counts FILE.npy [ROUNDS]     (3); one thread per rank; not periodic */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/measure.h"

static const char *const names[] = {"clusters", "euler", "chords"};

enum { COUNT = sizeof names / sizeof names[0] };

static int measure(const struct mf_measure_job *job, const char *name, int rounds, double *seconds,
                   struct mf_json **found)
{
    unsigned wanted;

    MF_TRY(mf_measures_find(1, &name, &wanted));
    *seconds = INFINITY;
    for (int i = 0; i < rounds; ++i) {
        double taken = mf_now();

        if (i) mf_json_free(*found);
        MF_TRY(mf_measures_run(job, wanted, found));
        taken = mf_now() - taken;
        mf_comm_max(job->comm, 1, &taken);
        *seconds = fmin(*seconds, taken);
    }
    return MF_OK;
}

static int measure_all(const struct mf_measure_job *job, int rounds)
{
    struct mf_json *all = mf_json_object(), *seconds = mf_json_object();

    mf_json_int(all, "ranks", job->comm->size);
    for (int i = 0; i < COUNT; ++i) {
        struct mf_json *found = NULL;
        double taken = 0;

        MF_TRY(measure(job, names[i], rounds, &taken, &found));
        mf_json_real(seconds, names[i], taken);
        mf_json_put(all, names[i], found);
    }
    mf_json_put(all, "seconds", seconds);
    if (job->comm->rank == 0) MF_TRY(mf_json_write(all, stdout));
    mf_json_free(all);
    return MF_OK;
}

int main(int argc, char **argv)
{
    const struct mf_micro_read read = {0};
    struct mf_micro micro;
    struct mf_comm comm;
    struct mf_measure_job job = {.comm = &comm, .micro = &micro, .lag = 1};
    int rc;

    if (mf_comm_open(&comm, &argc, &argv, "benchmark") != MF_OK || argc < 2) return MF_USAGE;
    rc = mf_arena_open(&job.arena, NULL, 0);
    if (rc == MF_OK) rc = mf_backend_cpu.queue_open(&job.queue, 0, 1, 0, job.arena, job.arena);
    if (rc == MF_OK) rc = mf_micro_read(&comm, job.arena, argv[1], &read, &micro);
    if (rc == MF_OK) rc = measure_all(&job, argc > 2 ? (int)strtol(argv[2], NULL, 10) : 3);
    if (rc != MF_OK) mf_die(rc, __FILE__, __LINE__, "%s", mf_err_text());
    mf_micro_free(&micro);
    mf_backend_cpu.queue_close(job.queue);
    mf_arena_close(job.arena);
    mf_comm_close(&comm);
    return 0;
}
