/* The limits of this process's control group on cores and memory, in versions 1 and 2.
 * Rule: where both versions are in use, the tightest limit counts. */
#ifndef MF_PLAN_CGROUP_H
#define MF_PLAN_CGROUP_H

#include <stdint.h>

enum { MF_LIMITS_FILE = 120 };

struct mf_limits {
    double cores;                /* quota of processor time; 0: no limit */
    int64_t ram_bytes;           /* 0: no limit */
    int64_t ram_available_bytes; /* of that, still free (file caches count as free); 0: no limit */
    char cores_in[MF_LIMITS_FILE], ram_in[MF_LIMITS_FILE]; /* the files that state the limits; "" */
};

/** The tightest limit of this process's group and its parents. The folder @p root is "", or in tests the parent of
 * proc/ and sys/. */
void mf_cgroup_limits(const char *root, struct mf_limits *limits);

#endif
