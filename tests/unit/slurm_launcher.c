/* Launchers' facts in the environment: under srun the step's, inside a job the job's, under mpirun mpirun itself. Also
 * when the job ends, or why nobody knows; no list that was cut. */
#include "slurm/launcher.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "tests/check.h"

#define JOB      "SLURM_JOB_ID=12\0SLURM_JOB_NODELIST=n[1-4]\0SLURM_TASKS_PER_NODE=2(x4)\0SLURM_PROCID=0\0"
#define OF(text) mf_launcher_of(text, sizeof(text) - 1)

/* A squeue that says this, first in PATH; hours of a job that has no other word of its end. */
static int ask(const char *says, double *hours)
{
    char folder[] = "/tmp/mf-squeue-XXXXXX", name[64], path[4200];
    struct mf_launcher l = OF(JOB);
    FILE *file;
    int rc;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(name, sizeof name, "%s/squeue", folder);
    snprintf(path, sizeof path, "%s:%.4000s", folder, getenv("PATH"));
    file = fopen(name, "w");
    CHECK(file && fprintf(file, "#!/bin/sh\necho %s\n", says) > 0 && fclose(file) == 0 && chmod(name, 0700) == 0);
    CHECK(setenv("PATH", path, 1) == 0);
    rc = mf_launcher_hours(&l, hours);
    CHECK(unlink(name) == 0 && rmdir(folder) == 0);
    return rc;
}

int main(void)
{
    struct mf_launcher l = OF("HOME=/\0");
    char end[64], list[1100];
    double hours = 0;

    CHECK(strcmp(l.kind, "none") == 0 && !*l.job && !*l.nodes && l.end == 0);
    CHECK(mf_launcher_hours(&l, &hours) == MF_USAGE && strstr(mf_err_text(), "SLURM_JOB_END_TIME"));
    l = OF(JOB);
    CHECK(strcmp(l.kind, "none") == 0 && strcmp(l.job, "12") == 0 && l.cores == 0 && !l.too_long);
    CHECK(strcmp(l.nodes, "n[1-4]") == 0 && strcmp(l.tasks, "2(x4)") == 0);
    l = OF(JOB "SLURM_STEP_ID=0\0SLURM_STEP_NODELIST=n[2-3]\0SLURM_STEP_TASKS_PER_NODE=3,1\0SLURM_RESTART_COUNT=2\0"
               "SLURM_ARRAY_TASK_ID=7\0");
    CHECK(strcmp(l.kind, "srun") == 0 && l.restarts == 2 && strcmp(l.task, "7") == 0);
    CHECK(strcmp(l.nodes, "n[2-3]") == 0 && strcmp(l.tasks, "3,1") == 0);
    l = OF(JOB "SLURM_STEP_ID=0\0OMPI_COMM_WORLD_SIZE=4\0");
    CHECK(strcmp(l.kind, "mpirun") == 0 && strcmp(l.job, "12") == 0);
    l = OF("PMIX_RANK=1\0SLURM_RESTART_COUNT=x\0");
    CHECK(strcmp(l.kind, "pmix") == 0 && l.restarts == 0);
    snprintf(end, sizeof end, "SLURM_JOB_END_TIME=%ld", (long)time(NULL) + 7200);
    l = mf_launcher_of(end, strlen(end) + 1);
    CHECK(mf_launcher_hours(&l, &hours) == MF_OK);
    CHECK_NEAR(hours, 2, 0.01);
    l = OF("SLURM_CPUS_PER_TASK=8\0");
    CHECK(l.cores == 8 && l.job_nodes == 0);
    l = OF("SLURM_JOB_NUM_NODES=4\0SLURM_STEP_NUM_NODES=2\0");
    CHECK(l.job_nodes == 4);
    /* one that fits, and one that is longer by a letter */
    snprintf(list, sizeof list, "SLURM_JOB_NODELIST=%01023d", 0);
    l = mf_launcher_of(list, strlen(list) + 1);
    CHECK(strlen(l.nodes) == 1023 && !l.too_long);
    snprintf(list, sizeof list, "SLURM_JOB_NODELIST=%01024d", 0);
    l = mf_launcher_of(list, strlen(list) + 1);
    CHECK(!*l.nodes && l.too_long);
    l = OF("SLURM_JOB_END_TIME=banana\0");
    CHECK(mf_launcher_hours(&l, &hours) == MF_USAGE && strstr(mf_err_text(), "is no number of seconds"));
    l = OF("SLURM_JOB_END_TIME=0\0");
    CHECK(mf_launcher_hours(&l, &hours) == MF_USAGE && strstr(mf_err_text(), "is not set, or 0"));
    l = OF("SLURM_JOB_END_TIME=\0");
    CHECK(mf_launcher_hours(&l, &hours) == MF_USAGE && strstr(mf_err_text(), "is not set, or 0"));
    l = OF("SLURM_JOB_END_TIME=1000\0");
    CHECK(mf_launcher_hours(&l, &hours) == MF_USAGE && strstr(mf_err_text(), "was over"));
    CHECK(ask("INVALID", &hours) == MF_USAGE && strstr(mf_err_text(), "squeue says INVALID"));
    CHECK(ask("UNLIMITED", &hours) == MF_OK && isinf(hours) && hours > 0);
    CHECK(ask("INVALID", &hours) == MF_OK && isinf(hours)); /* what was said is kept */
    return failures != 0;
}
