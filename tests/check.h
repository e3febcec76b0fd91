/* CHECK prints the place that failed and the test ends with status 1; exit 77 is "skipped". */
#ifndef MF_TESTS_CHECK_H
#define MF_TESTS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Where every access is looked at, a part of many like cases is enough. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static int failures;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            ++failures;                                                             \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                           \
    } while (0)

/* The same with a sentence (printf). */
#define CHECK_SAYS(condition, ...)                                  \
    do {                                                            \
        if (!(condition)) {                                         \
            ++failures;                                             \
            fprintf(stderr, "%s:%d: failed: ", __FILE__, __LINE__); \
            fprintf(stderr, __VA_ARGS__);                           \
            fputc('\n', stderr);                                    \
        }                                                           \
    } while (0)

#define CHECK_NEAR(got, want, tolerance)                                                                              \
    do {                                                                                                              \
        double check_got = (got), check_want = (want);                                                                \
        if (!(fabs(check_got - check_want) <= (tolerance))) {                                                         \
            ++failures;                                                                                               \
            fprintf(stderr, "%s:%d: %s = %.17g, want %.17g +- %g\n", __FILE__, __LINE__, #got, check_got, check_want, \
                    (double)(tolerance));                                                                             \
        }                                                                                                             \
    } while (0)

/* A test that needs so many arguments says which, with status 2 (tests/usage.sh). */
#define NEEDS(count, words)                                  \
    do {                                                     \
        if (argc <= (count)) {                               \
            fprintf(stderr, "usage: %s %s\n", *argv, words); \
            exit(2);                                         \
        }                                                    \
    } while (0)

#endif
