/* The values of an array: labels with their counts, or a range. Used by info and view. */
#ifndef MF_SHOW_VALUES_H
#define MF_SHOW_VALUES_H

#include "io/array.h"
#include "src/base/json.h"

enum { MF_VALUES_MAX = MF_PHASES_MAX };

struct mf_values {
    double count, least, most, sum; /* of finite values; sum: times 2^-64 */
    double not_finite;
    int distinct; /* number of values in at[]; MF_VALUES_MAX + 1: more */
    int64_t at[MF_VALUES_MAX];
    double times[MF_VALUES_MAX];
    int is_labels; /* integers, at most MF_VALUES_MAX different ones; of 8-bit pictures only 0..P-1 */
};

/** Visits every value once. Not collective; MF_INPUT. */
int mf_values_scan(const struct mf_array *array, struct mf_values *values);

/** Adds the result to @p json, key by key; prints it as lines on standard output. */
void mf_values_json(struct mf_json *json, const struct mf_values *values, const struct mf_array *array);
void mf_values_print(const struct mf_values *values, const struct mf_array *array);

#endif
