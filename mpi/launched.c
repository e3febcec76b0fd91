/* See launched.h. An unknown launcher would start as many separate runs as it starts ranks. So the list has rather too
 * many names than too few. */
#include "mpi/launched.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"

static int is_launchers(const char *variable)
{
    static const char *const begins[] = {"OMPI_COMM_WORLD", "PMIX_",    "PMI_",       "MPI_LOCAL", "HYDI_",
                                         "HYDRA_",          "ALPS_APP", "PALS_",      "JSM_",      "FLUX_TASK",
                                         "MPIRUN_",         "MV2_COMM", "LSF_PM_TASK"};

    if (strncmp(variable, "PMIX_MCA_", 9) == 0) return 0; /* a user's settings */
    for (size_t i = 0; i < sizeof begins / sizeof *begins; ++i)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0) return 1;
    return 0;
}

/* Slurm numbers the shell of a batch script too, which is no step. */
static int is_step(void) { return getenv("SLURM_PROCID") && (getenv("SLURM_STEP_ID") || !getenv("SLURM_JOB_ID")); }

/* The user's choice of MPI in the environment. */
enum { UNSAID = -1, WITHOUT, WITH };

static int asked(int *said)
{
    const char *word = getenv("MESOFORGE_MPI");

    *said = UNSAID;
    if (!word || !*word) return MF_OK;
    *said = strcmp(word, "1") == 0 ? WITH : WITHOUT;
    if (*said == WITH || strcmp(word, "0") == 0 || mf_word_flag(word, said)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "MESOFORGE_MPI is '%.200s' in the environment; try: MESOFORGE_MPI=1 (with MPI), 0 (without)", word);
}

static int without(void)
{
    int said;

    if (asked(&said) == MF_OK) return said == WITHOUT;
    mf_err_clear();
    return 0;
}

static int is_led(void)
{
    for (char **variable = environ; variable && *variable; ++variable)
        if (is_launchers(*variable)) return 1;
    return 0;
}

int mf_launched(int *launched)
{
    int said;

    MF_TRY(asked(&said));
    *launched = said == WITH || (said == UNSAID && (is_step() || is_led()));
    return MF_OK;
}

/* A variable may come from an outer launcher. Below mpirun, ranks inherit Slurm's variables for its daemons. A launcher
 * of one task states so correctly. So the function returns several tasks only if no variable says one. */
long mf_launched_tasks(const char **says)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
    long tasks = 1;

    if (without()) return 1;
    for (size_t i = 0; i < (is_step() ? 4 : 2); ++i) {
        const char *value = getenv(names[i]);
        const long number = value ? strtol(value, NULL, 10) : 0;

        if (number == 1) return 1;
        if (number < 1 || tasks > 1) continue;
        tasks = number;
        *says = names[i];
    }
    return tasks;
}

int mf_launched_apart(void)
{
    const char *says;
    long tasks = mf_launched_tasks(&says);
    int said;

    if (!is_step() || is_led() || asked(&said) != MF_OK || said == WITH || tasks < 2) return MF_OK;
    return mf_fail(MF_DEVICE,
                   "srun started %ld tasks (%s), but Open MPI cannot connect them; try: srun --mpi=pmix (srun "
                   "--mpi=list shows the choices), mpirun, or MESOFORGE_MPI=1 if Open MPI was built with Slurm's PMI",
                   tasks, says);
}

const char *mf_launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",          "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK",  "PALS_RANKID",        "ALPS_APP_PE",
                                        "FLUX_TASK_RANK",       "JSM_NAMESPACE_RANK", "SLURM_PROCID"};

    for (size_t i = 0; !without() && i < sizeof names / sizeof *names; ++i)
        if (getenv(names[i])) return getenv(names[i]);
    return NULL;
}
