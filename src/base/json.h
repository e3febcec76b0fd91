/* JSON: writes values (%.17g; NaN and infinities are bugs) and reads files of this program that people edit.
 * Rule: only this module includes jansson. */
#ifndef MF_BASE_JSON_H
#define MF_BASE_JSON_H

#include <stddef.h>
#include <stdio.h>

struct mf_json; /* any JSON value, owned by its maker until it is put into another */

struct mf_json *mf_json_object(void);
struct mf_json *mf_json_array(void);
/** Each puts a member into an object @p at (key) or, with key NULL, appends to an array. A name with _take hands over
 * ownership. */
void mf_json_put(struct mf_json *at, const char *key, struct mf_json *value_take);
void mf_json_real(struct mf_json *at, const char *key, double value);
void mf_json_int(struct mf_json *at, const char *key, long long value);
void mf_json_text(struct mf_json *at, const char *key, const char *value);
void mf_json_bool(struct mf_json *at, const char *key, int value);
void mf_json_null(struct mf_json *at, const char *key);
/** Put null instead of a number that is not finite; of a text that is NULL or empty. */
void mf_json_finite(struct mf_json *at, const char *key, double value);
void mf_json_some(struct mf_json *at, const char *key, const char *text);
/** For MF_JSON: sizes of arrays. */
void mf_json_size(struct mf_json *at, const char *key, unsigned long value);

/**
 * MF_JSON(object, "key", value, "key", value, ..): puts up to twelve members at once. The type of a value decides:
 * numbers, texts, or another mf_json, which is taken.
 */
#define MF_JSON(at, ...)                                                                                             \
    MF_JSON_PICK(__VA_ARGS__, MF_JSON_12, 0, MF_JSON_11, 0, MF_JSON_10, 0, MF_JSON_9, 0, MF_JSON_8, 0, MF_JSON_7, 0, \
                 MF_JSON_6, 0, MF_JSON_5, 0, MF_JSON_4, 0, MF_JSON_3, 0, MF_JSON_2, 0, MF_JSON_1, 0)                 \
    (at, __VA_ARGS__)
#define MF_JSON_PICK(k1, v1, k2, v2, k3, v3, k4, v4, k5, v5, k6, v6, k7, v7, k8, v8, k9, v9, k10, v10, k11, v11, k12, \
                     v12, pick, ...)                                                                                  \
    pick
#define MF_JSON_1(at, key, value) \
    _Generic((value), double                  \
             : mf_json_real, float            \
             : mf_json_real, char *           \
             : mf_json_text, const char *     \
             : mf_json_text, struct mf_json * \
             : mf_json_put, unsigned long     \
             : mf_json_size, default          \
             : mf_json_int)(at, key, value)
#define MF_JSON_2(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_1(at, __VA_ARGS__))
#define MF_JSON_3(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_2(at, __VA_ARGS__))
#define MF_JSON_4(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_3(at, __VA_ARGS__))
#define MF_JSON_5(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_4(at, __VA_ARGS__))
#define MF_JSON_6(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_5(at, __VA_ARGS__))
#define MF_JSON_7(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_6(at, __VA_ARGS__))
#define MF_JSON_8(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_7(at, __VA_ARGS__))
#define MF_JSON_9(at, key, value, ...)  (MF_JSON_1(at, key, value), MF_JSON_8(at, __VA_ARGS__))
#define MF_JSON_10(at, key, value, ...) (MF_JSON_1(at, key, value), MF_JSON_9(at, __VA_ARGS__))
#define MF_JSON_11(at, key, value, ...) (MF_JSON_1(at, key, value), MF_JSON_10(at, __VA_ARGS__))
#define MF_JSON_12(at, key, value, ...) (MF_JSON_1(at, key, value), MF_JSON_11(at, __VA_ARGS__))
/** Removes a member of an object, if there is one. */
void mf_json_drop(struct mf_json *at, const char *key);
/** A row of reals, or rows x columns of them as nested arrays. */
void mf_json_reals(struct mf_json *at, const char *key, const double *values, size_t count);
void mf_json_table(struct mf_json *at, const char *key, const double *values, size_t rows, size_t columns);
/** An array of whole numbers that are stored as reals, such as bytes. */
void mf_json_wholes(struct mf_json *at, const char *key, const double *values, size_t count);

/** Parses JSON text. NULL if it is none; no message. */
struct mf_json *mf_json_parse(const char *text);

/**
 * The same for files of other programs. A whole number of any size is a real. A text may hold NUL characters; see
 * mf_json_length(). The first form refuses also more than @p values commas and brackets, as each takes some fifty bytes
 * of memory. The second form parses @p bytes bytes, and says in *why (of @p room bytes) what is wrong; "": there is no
 * memory.
 */
int mf_json_load_foreign(const char *path, size_t most, size_t values, struct mf_json **value);
struct mf_json *mf_json_parse_foreign(const char *text, size_t bytes, char *why, size_t room);
/** Bytes of a text. */
size_t mf_json_length(const struct mf_json *text);
/** Puts a text of @p n bytes of UTF-8, in which NUL is a character. */
void mf_json_bytes(struct mf_json *at, const char *key, const char *text, size_t n);

/** A copy with all that is in it. */
struct mf_json *mf_json_copy(const struct mf_json *value);

/** A value from a file of at most @p most bytes. Refuses with MF_INPUT: unreadable, too long, no JSON (line, column).
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

/** NULL is MF_JSON_NULL. The second function returns "a number", "text", ... for a sentence. */
enum mf_json_kind mf_json_kind(const struct mf_json *value);
const char *mf_json_kind_name(const struct mf_json *value);
/** Borrowed from the object or array; NULL where there is none. */
struct mf_json *mf_json_get(const struct mf_json *object, const char *key);
struct mf_json *mf_json_item(const struct mf_json *array, size_t i);
/** Elements of an array; of anything else 0. */
size_t mf_json_count(const struct mf_json *array);
/** The content of a value. A value of another kind gives 0 or "" (borrowed). */
double mf_json_to_real(const struct mf_json *value);   /* whole numbers as well */
double mf_json_to_finite(const struct mf_json *value); /* the same, and NAN of null: of what is not finite */
long long mf_json_to_int(const struct mf_json *value);
int mf_json_to_bool(const struct mf_json *value);
const char *mf_json_to_text(const struct mf_json *value);
/** The same of a member of an object. */
double mf_json_get_real(const struct mf_json *object, const char *key);
long long mf_json_get_int(const struct mf_json *object, const char *key);
const char *mf_json_get_text(const struct mf_json *object, const char *key);
/** Calls @p see for every member of an object. */
void mf_json_each(const struct mf_json *object,
                  void (*see)(void *context, const char *key, const struct mf_json *value), void *context);
/** The first key of an object that is not among @p known (NULL-terminated); NULL if there is none. */
const char *mf_json_stranger(const struct mf_json *object, const char *const *known);

/** Writes a file @p path on several lines, with two blanks per level. @p name: how error messages name it.
 * MF_OUTPUT. */
int mf_json_save(const struct mf_json *value, const char *path, const char *name);

/** From now on this thread keeps the last value that it prints as *@p text, and stdout gets none. NULL ends that. The
 * caller frees the text. */
void mf_json_divert(char **text);

/** Writes it on one line (compact) and a newline; flushes. Refuses with MF_OUTPUT. */
int mf_json_write(const struct mf_json *value, FILE *to);
/** The text that mf_json_write() writes, with its newline; the caller frees. */
char *mf_json_string(const struct mf_json *value);
void mf_json_free(struct mf_json *value);

#endif
