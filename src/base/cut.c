/* See cut.h. */
#include "src/base/cut.h"

struct mf_span mf_cut(size_t n, size_t parts, size_t i)
{
    size_t base = n / parts, extra = n % parts;

    return (struct mf_span){i * base + (i < extra ? i : extra), base + (i < extra)};
}

struct mf_span mf_cut_grain(size_t n, size_t grain, size_t parts, size_t i)
{
    struct mf_span run = mf_cut((n + grain - 1) / grain, parts, i);
    size_t first = run.first * grain, end = first + run.count * grain;

    if (end > n) end = n;
    if (first > end) first = end;
    return (struct mf_span){first, end - first};
}
