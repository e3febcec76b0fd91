/* Which environments are a launcher's, and which rank each of them names. */
#include "mpi/launched.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "tests/check.h"

static int launched(void)
{
    int is = -1;

    CHECK(mf_launched(&is) == MF_OK);
    return is;
}

/* This one variable, beside @p also (NULL: none). */
static void only(char *variable, char *also)
{
    static char *two[3];

    two[0] = variable;
    two[1] = also;
    environ = two;
    CHECK(launched());
    CHECK(mf_launched_rank() && strcmp(mf_launched_rank(), "3") == 0);
    environ = NULL;
}

static void every_launcher_names_its_rank(void)
{
    char size[] = "PMI_SIZE=4";
    char names[][32] = {"OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3",          "PMI_RANK=3",
                        "MV2_COMM_WORLD_RANK=3",  "PALS_RANKID=3",        "ALPS_APP_PE=3",
                        "FLUX_TASK_RANK=3",       "JSM_NAMESPACE_RANK=3", "SLURM_PROCID=3"};

    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        only(names[i], NULL);
        only(names[i], size);
    }
}

static void a_batch_shell_is_alone(void)
{
    static char task[] = "SLURM_PROCID=0", job[] = "SLURM_JOB_ID=1", step[] = "SLURM_STEP_ID=0",
                asked[] = "MESOFORGE_MPI=1";
    static char *none[] = {NULL}, *shell[] = {task, job, NULL}, *inside[] = {task, job, step, NULL},
                *said[] = {asked, NULL};

    environ = none;
    CHECK(!launched() && !mf_launched_rank());
    environ = shell;
    CHECK(!launched());
    environ = inside;
    CHECK(launched() && strcmp(mf_launched_rank(), "0") == 0);
    environ = said;
    CHECK(launched() && !mf_launched_rank());
    environ = none;
}

/* Each launcher's count is found, and one that says 1 is believed, whoever else says what. */
static void tasks_are_counted(void)
{
    static char mpirun[] = "OMPI_COMM_WORLD_SIZE=4", alone[] = "OMPI_COMM_WORLD_SIZE=1", pmi[] = "PMI_SIZE=3",
                one[] = "SLURM_NTASKS=1", eight[] = "SLURM_NTASKS=8", task[] = "SLURM_PROCID=0",
                job[] = "SLURM_JOB_ID=1", step[] = "SLURM_STEP_ID=0";
    static const struct {
        char *around[6];
        long tasks;
        const char *says;
    } cases[] = {{{mpirun}, 4, "OMPI_COMM_WORLD_SIZE"},
                 {{alone, pmi}, 1, NULL},
                 {{pmi, mpirun}, 4, "OMPI_COMM_WORLD_SIZE"},
                 {{task, job, step, eight}, 8, "SLURM_NTASKS"},
                 {{task, job, step, one, mpirun}, 1, NULL},
                 {{task, job, eight}, 1, NULL}, /* a batch script's shell */
                 {{task, job, one, mpirun}, 4, "OMPI_COMM_WORLD_SIZE"},
                 {{NULL}, 1, NULL}};
    static char *variables[7];

    environ = variables;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const char *says = NULL;

        memcpy(variables, cases[i].around, sizeof cases[i].around);
        CHECK(mf_launched_tasks(&says) == cases[i].tasks);
        CHECK(cases[i].says ? says && strcmp(says, cases[i].says) == 0 : cases[i].tasks == 1);
    }
}

/* Under a launcher too, a process whose environment says no is alone. */
static void one_rank_calls_the_program(void)
{
    static char rank[] = "OMPI_COMM_WORLD_RANK=3", size[] = "OMPI_COMM_WORLD_SIZE=4", task[] = "SLURM_PROCID=1",
                tasks[] = "SLURM_NTASKS=2", no[] = "MESOFORGE_MPI=0";
    static char *one[] = {no, rank, size, task, tasks, NULL};
    const char *says;

    environ = one;
    CHECK(!launched() && !mf_launched_rank() && mf_launched_tasks(&says) == 1 && mf_launched_apart() == MF_OK);
    one[0] = rank;
    CHECK(launched() && strcmp(mf_launched_rank(), "3") == 0 && mf_launched_tasks(&says) == 4);
}

/* Words that say yes start MPI, those that say no do not, others are refused. */
static void words_are_understood(void)
{
    static char words[][24] = {"MESOFORGE_MPI=yes", "MESOFORGE_MPI=ON",  "MESOFORGE_MPI=true", "MESOFORGE_MPI=no",
                               "MESOFORGE_MPI=0",   "MESOFORGE_MPI=Off", "MESOFORGE_MPI="};
    static char wrong[][24] = {"MESOFORGE_MPI=ja", "MESOFORGE_MPI=2", "MESOFORGE_MPI=1 "};
    static char *one[2];
    int is;

    environ = one;
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
        one[0] = words[i];
        CHECK(launched() == (i < 3));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        one[0] = wrong[i];
        CHECK(mf_launched(&is) == MF_USAGE && strstr(mf_err_text(), "try: MESOFORGE_MPI=1"));
        mf_err_clear();
    }
}

int main(void)
{
    char **before = environ;

    every_launcher_names_its_rank();
    a_batch_shell_is_alone();
    tasks_are_counted();
    one_rank_calls_the_program();
    words_are_understood();
    environ = before;
    return failures != 0;
}
