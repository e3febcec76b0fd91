/* See launcher.h. The environment is the one that the process was started with: MPI puts variables of its own into it,
 * which a program that was started without a launcher would find as well. Below mpirun ranks inherit the variables of
 * the batch script's shell, so mpirun is asked first. */
#include "slurm/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is NAME among these "NAME=VALUE\0..." ? */
static const char *value_of(const char *environment, size_t bytes, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = environment; at < environment + bytes; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
    return NULL;
}

/* The environment at the start; the caller frees. */
static char *first_environment(size_t *bytes)
{
    FILE *file = fopen("/proc/self/environ", "r");
    char *text = NULL;
    size_t size = 0, n = 1;

    *bytes = 0;
    while (file && n > 0) {
        char *more = realloc(text, size + 4097);

        if (!more) break;
        text = more;
        n = fread(text + size, 1, 4096, file);
        size += n;
        text[size] = '\0';
    }
    if (file) (void)fclose(file);
    *bytes = text ? size : 0;
    return text;
}

struct mf_launcher mf_launcher_find(void)
{
    struct mf_launcher launcher = {.kind = "none"};
    size_t bytes;
    char *text = first_environment(&bytes);
    const char *job = value_of(text, bytes, "SLURM_JOB_ID"), *restarts = value_of(text, bytes, "SLURM_RESTART_COUNT");

    if (job) snprintf(launcher.job, sizeof launcher.job, "%s", job);
    if (restarts) launcher.restarts = strtol(restarts, NULL, 10);
    if (value_of(text, bytes, "OMPI_COMM_WORLD_SIZE"))
        launcher.kind = "mpirun";
    else if (value_of(text, bytes, "SLURM_STEP_ID") && value_of(text, bytes, "SLURM_PROCID"))
        launcher.kind = "srun";
    else if (value_of(text, bytes, "PMIX_RANK"))
        launcher.kind = "pmix";
    else if (value_of(text, bytes, "PMI_RANK"))
        launcher.kind = "pmi";
    free(text);
    return launcher;
}
