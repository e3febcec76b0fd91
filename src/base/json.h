/* Writing JSON: one object on standard output, numbers with %.17g, NaN and infinities refused as bugs. A thin cover of
 * jansson so that only this room includes it. */
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
/** A row of reals, or rows x columns of them as nested arrays. */
void mf_json_reals(struct mf_json *at, const char *key, const double *values, size_t count);
void mf_json_table(struct mf_json *at, const char *key, const double *values, size_t rows, size_t columns);

/** A value from JSON text. NULL where it is none; says nothing. */
struct mf_json *mf_json_parse(const char *text);

/** Writes it on one line (compact) and a newline; flushes. Refuses with MF_OUTPUT. */
int mf_json_write(const struct mf_json *value, FILE *to);
void mf_json_free(struct mf_json *value);

#endif
