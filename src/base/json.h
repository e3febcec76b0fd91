/* JSON: writes values (%.17g; NaN and infinities are bugs) and reads files of ours that people edit.
 * Rule: only this module includes jansson. */
#ifndef MF_BASE_JSON_H
#define MF_BASE_JSON_H

#include <stddef.h>
#include <stdio.h>

struct mf_json; /* any JSON value, owned by whoever made it until it is put into another */

struct mf_json *mf_json_object(void);
struct mf_json *mf_json_array(void);
/** Each puts a member into an object @p at (key) or, with key NULL, appends to an array. _take hands over ownership. */
void mf_json_put(struct mf_json *at, const char *key, struct mf_json *value_take);
void mf_json_real(struct mf_json *at, const char *key, double value);
void mf_json_int(struct mf_json *at, const char *key, long long value);
void mf_json_text(struct mf_json *at, const char *key, const char *value);
void mf_json_bool(struct mf_json *at, const char *key, int value);
void mf_json_null(struct mf_json *at, const char *key);
/** Takes a member out of an object; none of that name is no matter. */
void mf_json_drop(struct mf_json *at, const char *key);
/** A row of reals, or rows x columns of them as nested arrays. */
void mf_json_reals(struct mf_json *at, const char *key, const double *values, size_t count);
void mf_json_table(struct mf_json *at, const char *key, const double *values, size_t rows, size_t columns);
/** A row of whole numbers that are held as reals: bytes. */
void mf_json_wholes(struct mf_json *at, const char *key, const double *values, size_t count);

/** A value from JSON text. NULL where it is none; says nothing. */
struct mf_json *mf_json_parse(const char *text);

/** A value from a file of at most @p most bytes; refuses with MF_INPUT: unreadable, too long, no JSON (line, column).
 */
int mf_json_load(const char *path, size_t most, struct mf_json **value);

enum mf_json_kind {
    MF_JSON_NULL,
    MF_JSON_BOOL,
    MF_JSON_INT,
    MF_JSON_REAL,
    MF_JSON_TEXT,
    MF_JSON_ARRAY,
    MF_JSON_OBJECT
};

/** Of NULL: MF_JSON_NULL. "a number", "text", ... for a sentence. */
enum mf_json_kind mf_json_kind(const struct mf_json *value);
const char *mf_json_kind_name(const struct mf_json *value);
/** Borrowed from the object or array; NULL where there is none. */
struct mf_json *mf_json_get(const struct mf_json *object, const char *key);
struct mf_json *mf_json_item(const struct mf_json *array, size_t i);
/** Elements of an array; of anything else 0. */
size_t mf_json_count(const struct mf_json *array);
/** What a value of the right kind holds; of another kind 0, "" (borrowed). */
double mf_json_to_real(const struct mf_json *value); /* whole numbers as well */
long long mf_json_to_int(const struct mf_json *value);
int mf_json_to_bool(const struct mf_json *value);
const char *mf_json_to_text(const struct mf_json *value);
/** Calls @p see for every member of an object. */
void mf_json_each(const struct mf_json *object,
                  void (*see)(void *context, const char *key, const struct mf_json *value), void *context);
/** The first key of an object that is not among @p known (NULL-terminated); NULL if there is none. */
const char *mf_json_stranger(const struct mf_json *object, const char *const *known);

/** A file @p path of it, on several lines, two blanks a level; @p name: what sentences call it. MF_OUTPUT. */
int mf_json_save(const struct mf_json *value, const char *path, const char *name);

/** Writes it on one line (compact) and a newline; flushes. Refuses with MF_OUTPUT. */
int mf_json_write(const struct mf_json *value, FILE *to);
/** What that writes, newline and all; the caller frees. */
char *mf_json_string(const struct mf_json *value);
void mf_json_free(struct mf_json *value);

#endif
