/* Numbers and names in the JSON of a model's card. All functions are local. */
#ifndef MF_MODEL_FIELDS_H
#define MF_MODEL_FIELDS_H

#include "io/dataset.h"
#include "src/base/json.h"

/** Is it a finite number? */
int mf_field_is_number(const struct mf_json *value);

/** Items of an array; SIZE_MAX: it is none. */
size_t mf_field_count(const struct mf_json *array);

/** Reads an array of exactly @p n finite numbers to @p values. 0: it is none. */
int mf_field_numbers(const struct mf_json *array, size_t n, double *values);

/** Reads the first @p n items of an array to @p name [n]. Returns the first that is wrong; n: none. It is no text, or
 * empty, or (*twice) an earlier one again. */
size_t mf_field_names(const struct mf_json *array, size_t n, mf_name *name, int *twice);

#endif
