/* A folder of the test's own, the same on all ranks, removed at the end. */
#ifndef MF_TESTS_SCRATCH_H
#define MF_TESTS_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/comm.h"

static char scratch[256];

static inline void scratch_open(const struct mf_comm *c)
{
    if (c->rank == 0) {
        const char *base = getenv("TMPDIR");

        snprintf(scratch, sizeof scratch, "%s/mesoforge-test-XXXXXX", base && strlen(base) < 200 ? base : "/tmp");
        if (!mkdtemp(scratch)) abort();
    }
    mf_comm_bcast(c, 0, scratch, sizeof scratch);
}

/* "FOLDER/NAME"; eight of them live at a time. */
static inline const char *scratch_file(const char *name)
{
    static char path[8][512];
    static int next;

    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", scratch, name);
    return path[next];
}

/* Files in the folder; a temporary that was left behind counts. Removes them when asked. */
static inline int scratch_count(int remove_them)
{
    DIR *folder = opendir(scratch);
    struct dirent *entry;
    int n = 0;

    while (folder && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        ++n;
        if (remove_them) (void)unlink(scratch_file(entry->d_name));
    }
    if (folder) closedir(folder);
    return n;
}

static inline void scratch_close(const struct mf_comm *c)
{
    mf_comm_barrier(c);
    if (c->rank == 0) {
        scratch_count(1);
        (void)rmdir(scratch);
    }
}

static inline void scratch_write(const char *path, const void *bytes, size_t n)
{
    FILE *to = fopen(path, "wb");

    if (!to || fwrite(bytes, 1, n, to) != n || fclose(to) != 0) abort();
}

#endif
