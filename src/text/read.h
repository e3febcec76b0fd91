/* Parts of a tokenizer's file, read strictly. Types, keys and kinds of values that are not known are refused. */
#ifndef MF_TEXT_READ_H
#define MF_TEXT_READ_H

#include <stddef.h>

#include "src/base/json.h"
#include "src/text/pattern.h"

/** A part of a file, for sentences. */
struct mf_part {
    const char *file;          /* its path */
    const char *place;         /* "normalizer" */
    const struct mf_json *row; /* the object */
};

/** Refuses with MF_INPUT, naming file and place: "'FILE': normalizer: ...". */
int mf_part_fail(const struct mf_part *part, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Refuses what is no object, and keys that are not among @p known (NULL-terminated). */
int mf_part_keys(const struct mf_part *part, const char *const *known);

/**
 * Members of the object. A member that is missing or null leaves *value as it is. Refuses with MF_INPUT another kind of
 * value; numbers are whole, 0 to @p most. Texts are borrowed.
 */
int mf_part_flag(const struct mf_part *part, const char *key, int *value);
int mf_part_text(const struct mf_part *part, const char *key, const char **value);
int mf_part_number(const struct mf_part *part, const char *key, size_t most, size_t *value);

/** A text that must be there. */
int mf_part_needs_text(const struct mf_part *part, const char *key, const char **value);

/** A whole number of 0 to @p most. */
int mf_part_whole(const struct mf_part *part, const struct mf_json *value, size_t most, size_t *number);

/** The member "pattern": {"String": TEXT} or {"Regex": TEXT}. */
int mf_part_pattern(const struct mf_part *part, struct mf_pattern **pattern);

/** Its "type". */
int mf_part_type(const struct mf_part *part, const char **type);

#endif
