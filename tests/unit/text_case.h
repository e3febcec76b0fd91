/* A file in memory, which vanishes with the process. */
#ifndef MF_TESTS_TEXT_CASE_H
#define MF_TESTS_TEXT_CASE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline int text_descriptor(void)
{
    static int file = -1;

    if (file < 0) file = memfd_create("text", 0);
    if (file < 0) abort();
    return file;
}

static inline const char *text_path(void)
{
    static char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", text_descriptor());
    return path;
}

/** Writes over it; returns its path. */
static inline const char *text_file(const void *bytes, size_t n)
{
    if (ftruncate(text_descriptor(), 0) != 0 || pwrite(text_descriptor(), bytes, n, 0) != (ssize_t)n) abort();
    return text_path();
}

#endif
