/* Inside of the library: sessions, and what every call does before and after its work.
 * Rule: a function of include/mesoforge.h first enters its session, and last leaves it. */
#ifndef MF_LIB_LIB_H
#define MF_LIB_LIB_H

#include <stdatomic.h>
#include <sys/types.h>

#include "include/mesoforge.h"
#include "io/lent.h"
#include "kernels/threads.h"
#include "src/cmd/cmd.h"
#include "src/cmd/recon/characterize.h"

enum { MF_FIELD_NAME = 64 };

struct mesoforge_field {
    struct mf_lent lent; /* its next is that of this list */
    char name[MF_FIELD_NAME];
    mesoforge_field *next;
};

struct mesoforge_session {
    mesoforge_session *next; /* of the open ones */
    pid_t process;
    int busy; /* it is in a call */
    struct mf_comm comm;
    struct mf_options *options; /* of mesoforge_open() */
    struct mf_common common;
    struct mf_session work; /* what verbs get */
    mesoforge_field *fields;
    void (*take_line)(void *context, int level, const char *line);
    void *line_context;
    int (*go_on)(void *context, const char *what, double share);
    void *step_context;
    atomic_int stop;                  /* the call is asked to */
    struct mf_threads threads_before; /* a call: of the calling thread */
    void *locale_before;
};

/** Makes arguments for mf_options_parse() of @p text: "a=1 b" becomes "--a=1", "--b". The argument @p first stands
 * before them. Both may be NULL. The caller calls mf_lib_words_free(). MF_USAGE. */
int mf_lib_words(const char *text, const char *first, const struct mf_opt *const *tables, int *argc, char ***argv);
void mf_lib_words_free(char **argv);

/** Parses what mesoforge_open() takes: MF_USAGE. */
int mf_lib_open_options(const char *text, struct mf_options **options, struct mf_common *common);

/** Refuses words of a verb that are of a program, or of an open session: MF_USAGE. */
int mf_lib_check_words(const struct mf_options *options);

enum { MF_RESULT_PATH = 32, MF_RESULT_ARRAYS = 3 * (5 + MF_MORE) + MF_WHOLE };

struct mesoforge_result {
    char name[MF_FIELD_NAME];     /* of the field */
    struct mf_characterized *own; /* NULL: it is no characterization */
    uint8_t *phase;               /* of match */
    int64_t label[MF_PHASES_MAX];
    char *json; /* NULL: nobody has asked for it */
    size_t arrays;
    struct mesoforge_array array[MF_RESULT_ARRAYS];
    char path[MF_RESULT_ARRAYS][MF_RESULT_PATH];
};

/** One for a field. MF_MEMORY, agreed. Collective. */
int mf_lib_result_new(const mesoforge_session *session, const mesoforge_field *field, mesoforge_result **result);

/** Adds an array in C order with elements of @p size bytes; values are borrowed. */
void mf_lib_result_add(mesoforge_result *result, const char *name, const char *type, size_t size, int ndim,
                       const size_t *dims, const char *axes, const void *values);

/** A call: the session is this thread's until mf_lib_leave(). Else refuses with MF_USAGE, and nothing is to leave. */
int mf_lib_enter(mesoforge_session *session);
int mf_lib_leave(mesoforge_session *session, int rc);

/** Keeps the sentence of a refusal for mesoforge_last_error(), and returns @p rc. */
int mf_lib_told(int rc);

/** Is it a field of the session? */
int mf_lib_has(const mesoforge_session *session, const mesoforge_field *field);

/** How a verb is called. */
struct mf_lib_call {
    const struct mf_cmd *verb;
    void *into; /* its options, the first of them struct mf_common */
    int (*work)(mesoforge_session *session, void *options, mesoforge_result *result); /* collective, agreed */
};

/** A whole call of include/mesoforge.h: enters the session, works on the field, and leaves. Collective. */
int mf_lib_call(mesoforge_session *session, const struct mf_lib_call *call, const mesoforge_field *field,
                const char *text, mesoforge_result **result);

#endif
