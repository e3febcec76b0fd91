/* A file in memory, which vanishes with the process. */
#ifndef MF_TESTS_TEXT_CASE_H
#define MF_TESTS_TEXT_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/** Its path; the next call writes over it. */
static inline const char *text_file(const void *bytes, size_t n)
{
    static char path[64];
    static int file = -1;

    if (file < 0) file = memfd_create("tokenizer", 0);
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, bytes, n, 0) != (ssize_t)n) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

#endif
