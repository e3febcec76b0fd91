/* See bench_show.h. */
#include "src/cmd/bench_show.h"

#include <stdio.h>

#include "src/base/text.h"

/* The columns of nccl-tests, then MPI's bare call and how many times as long it takes. */
void mf_bench_show_head(const struct mf_bench_net *net, int ranks)
{
    printf("# %s: %s; %d rank%s\n", net->name, net->summary, ranks, MF_S(ranks));
    printf("# %10s %12s %7s %7s %10s %8s %8s %7s %10s %9s\n", "size", "count", "type", "redop", "time", "algbw",
           "busbw", "#wrong", "bare", "bare/time");
    printf("# %10s %12s %7s %7s %10s %8s %8s %7s %10s\n", "(B)", "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)", "",
           "(us)");
    fflush(stdout);
}

void mf_bench_show_row(const struct mf_bench_net *net, const struct mf_bench_row *row)
{
    printf("  %10zu %12zu %7s %7s %10.2f %8.3f %8.3f %7zu", row->bytes, row->count, "float", net->redop,
           1e6 * row->own.median, 1e-9 * row->algorithm, 1e-9 * row->bus, row->wrong);
    if (row->has_own)
        printf(" %10.2f %9.2f\n", 1e6 * row->bare.median, row->bare.median / row->own.median);
    else
        printf(" %10s %9s\n", "-", "-");
    fflush(stdout);
}

static struct mf_json *time_json(const struct mf_bench_time *time)
{
    struct mf_json *json = mf_json_object();

    mf_json_real(json, "min", time->least);
    mf_json_real(json, "median", time->median);
    mf_json_real(json, "max", time->most);
    mf_json_int(json, "samples", time->samples);
    mf_json_int(json, "calls", time->calls);
    return json;
}

struct mf_json *mf_bench_row_json(const struct mf_bench_row *row)
{
    struct mf_json *json = mf_json_object();

    mf_json_int(json, "bytes", (long long)row->bytes);
    mf_json_int(json, "count", (long long)row->count);
    mf_json_put(json, "seconds", time_json(&row->own));
    if (row->has_own) mf_json_put(json, "bare_seconds", time_json(&row->bare));
    mf_json_real(json, "algorithm_bandwidth", row->algorithm);
    mf_json_real(json, "bus_bandwidth", row->bus);
    mf_json_int(json, "wrong", (long long)row->wrong);
    return json;
}
