/* See folder.h. */
#include "src/base/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { OPEN_AT_ONCE = 8 };

int mf_folder_make(char *path)
{
    return mkdtemp(path) ? MF_OK : mf_fail(MF_OUTPUT, "cannot make the folder '%s': %s", path, strerror(errno));
}

static int remove_one(const char *path, const struct stat *is, int type, struct FTW *where)
{
    (void)is, (void)type, (void)where;
    return remove(path);
}

void mf_folder_remove(const char *path) { (void)nftw(path, remove_one, OPEN_AT_ONCE, FTW_DEPTH | FTW_PHYS); }
