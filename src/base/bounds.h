/* The smaller and the larger of two sizes. */
#ifndef MF_BASE_BOUNDS_H
#define MF_BASE_BOUNDS_H

#include <stddef.h>

static inline size_t mf_min(size_t a, size_t b) { return a < b ? a : b; }
static inline size_t mf_max(size_t a, size_t b) { return a > b ? a : b; }

#endif
