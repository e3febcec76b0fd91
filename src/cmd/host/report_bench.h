/* Sections of a report on measurements (the files of bench). */
#ifndef MF_CMD_HOST_REPORT_BENCH_H
#define MF_CMD_HOST_REPORT_BENCH_H

#include "src/base/json.h"
#include "src/show/page.h"

/** A file of bench. */
struct mf_report_bench {
    const char *name; /* of the file, as given */
    const struct mf_json *said;
};

/**
 * One section for each kind of measurement. The curves of all files are in one picture, and their rows in tables.
 * Pictures stay in the folder @p folder. Only rank 0; MF_OUTPUT, MF_INPUT.
 */
int mf_report_bench(const struct mf_page *page, const char *folder, size_t n, const struct mf_report_bench *files);

#endif
