/* Printed lists, which stand in text files. */
#ifndef MF_TESTS_LIST_TEXT_H
#define MF_TESTS_LIST_TEXT_H

#include <stdio.h>
#include <string.h>

#include "tests/check.h"

/* Is @p got the text of @p path? Where it differs, it is printed. */
static inline void check_list_text(const char *got, const char *path)
{
    char want[1 << 17];
    FILE *file = fopen(path, "r");

    want[file ? fread(want, 1, sizeof want - 1, file) : 0] = 0;
    if (file) fclose(file);
    CHECK_SAYS(strcmp(got, want) == 0, "%s should be:\n%s", path, got);
}

#endif
