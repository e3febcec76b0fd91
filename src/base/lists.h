/* Lists of plain values, as options hand them out. The values are borrowed. */
#ifndef MF_BASE_LISTS_H
#define MF_BASE_LISTS_H

#include <stddef.h>

struct mf_longs {
    size_t count;
    const long *at;
};
struct mf_reals {
    size_t count;
    const double *at;
};
struct mf_texts {
    size_t count;
    const char *const *at;
};

#endif
