/* Inside of the library: sessions, and what every call does before and after its work.
 * Rule: a function of include/mesoforge.h first enters its session, and last leaves it. */
#ifndef MF_LIB_LIB_H
#define MF_LIB_LIB_H

#include <stdatomic.h>
#include <sys/types.h>

#include "include/mesoforge.h"
#include "io/lent.h"
#include "kernels/threads.h"
#include "src/base/arena_keep.h"
#include "src/cmd/cmd.h"
#include "src/cmd/recon/characterize.h"
#include "src/cmd/resident.h"

enum { MF_FIELD_NAME = 64 };

struct mesoforge_field {
    struct mf_lent lent; /* what calls read; its next is that of this list */
    struct mf_lent own;  /* as the host lends it */
    void *moved;         /* during a call: planes of other ranks, too */
    char name[MF_FIELD_NAME];
    mesoforge_field *next;
};

struct mesoforge_model {
    mesoforge_model *next; /* of the session */
    size_t number;         /* of those that the session has loaded; the same on all ranks */
    char *path;
    const struct mf_resident_kind *kind;
    struct mf_cmd verb; /* the kind's, as loading and questions want it */
    void *own;          /* of the kind */
    /* of loading: the model has pointers to them */
    struct mf_options *options;
    void *into;
    mesoforge_result *facts;
};

struct mesoforge_session {
    mesoforge_session *next; /* of the open ones */
    pid_t process;
    int busy; /* it is in a call */
    struct mf_comm comm;
    struct mf_options *options; /* of mesoforge_open() */
    struct mf_common common;
    int trusts;               /* files may be decoded in this process */
    struct mf_verb_call work; /* what verbs get */
    mesoforge_field *fields;
    mesoforge_model *models;
    size_t loaded;          /* models so far */
    mesoforge_model *asked; /* during a call: the model that it loads or asks */
    int slabs;              /* structures come out in slabs */
    void (*take_line)(void *context, int level, const char *line);
    void *line_context;
    int (*go_on)(void *context, const char *what, double share);
    void *step_context;
    atomic_int stop;                  /* the call is asked to */
    double patience;                  /* [s] that ranks wait for each other where a call begins; 0: for ever */
    struct mf_threads threads_before; /* a call: of the calling thread */
    void *locale_before;
};

/** Makes arguments for mf_options_parse() of @p text: "a=1 b" becomes "--a=1", "--b". The words of @p inputs stand
 * before them. Both may be NULL. The caller calls mf_lib_words_free(). MF_USAGE. */
int mf_lib_words(const char *text, const char *inputs, const struct mf_opt *const *tables, int *argc, char ***argv);
void mf_lib_words_free(char **argv);

/** Parses what mesoforge_open() takes, for comm, options, common and trusts of @p session: MF_USAGE. */
int mf_lib_open_options(const char *text, mesoforge_session *session);

/** Refuses words of a verb that are of a program: MF_USAGE. The second: words of an open session. The third: words of
 * checkpoints, which stand beside an output. */
int mf_lib_check_words(const struct mf_options *options);
int mf_lib_check_session(const struct mf_options *options);
int mf_lib_check_runs(const struct mf_options *options);

/** Is @p word among those of a program, or (@p opens) of a session? */
int mf_lib_is_word(const char *word, int opens);

enum { MF_RESULT_PATH = 32, MF_RESULT_FIELDS = 6, MF_RESULT_ARRAYS = 3 * (5 + MF_MORE) + MF_WHOLE };

struct mesoforge_result {
    char name[MF_FIELD_NAME];      /* of its first input */
    struct mf_characterized *own;  /* NULL: it is no characterization */
    uint8_t *phase;                /* of verbs that make structures: the whole */
    struct mf_kept kept;           /* the memory of phase; none: it is of malloc() */
    int cut;                       /* but this rank's planes alone */
    struct mf_micro micro;         /* its facts, without values */
    void *field[MF_RESULT_FIELDS]; /* of properties and models: the values of its arrays */
    size_t fields;
    char command[32], *options; /* of the verb */
    long seed;
    int64_t label[MF_PHASES_MAX];
    char *json;    /* NULL: nobody has asked for it */
    char *printed; /* what the verb would print; NULL: nothing */
    size_t arrays;
    struct mesoforge_array array[MF_RESULT_ARRAYS];
    char path[MF_RESULT_ARRAYS][MF_RESULT_PATH];
};

/** One for an input of this name. MF_MEMORY, agreed. Collective. */
int mf_lib_result_new(const mesoforge_session *session, const char *name, mesoforge_result **result);

/** Takes what a target and its arrays are. */
void mf_lib_result_own(mesoforge_result *result, const struct mf_characterized *made_take);

/** Refuses what is no target: MF_USAGE. Local. */
int mf_lib_is_target(const mesoforge_result *result);

/** Adds an array in C order with elements of @p size bytes; values are borrowed. */
void mf_lib_result_add(mesoforge_result *result, const char *name, const char *type, size_t size, int ndim,
                       const size_t *dims, const char *axes, const void *values);

/** The same with a copy of the values; MF_MEMORY. Local. */
int mf_lib_result_copy(mesoforge_result *result, const char *name, const char *type, size_t size, int ndim,
                       const size_t *dims, const char *axes, const void *values);

/** Begins what ranks do together, once the session is entered. Where their texts @p call differ, all refuse (MF_USAGE).
 * MF_DEVICE: not all came. Collective. */
int mf_lib_meet(const mesoforge_session *session, const char *call);

/** A call: the session is this thread's until mf_lib_leave(). Else refuses with MF_USAGE, and nothing is to leave. */
int mf_lib_enter(mesoforge_session *session);
int mf_lib_leave(mesoforge_session *session, int rc);

/** Keeps the sentence of a refusal for mesoforge_last_error(), and returns @p rc. */
int mf_lib_told(int rc);

/** Is it a field of the session? */
int mf_lib_has(const mesoforge_session *session, const mesoforge_field *field);

/** Gives a rank the planes of a slab that it reads; mf_lib_slab_end() gives them back. Refuses (agreed) with MF_USAGE
 * where the slabs of all ranks do not make the volume, and with MF_MEMORY. Collective. */
int mf_lib_slab_begin(mesoforge_session *session, mesoforge_field *field);
void mf_lib_slab_end(mesoforge_session *session, mesoforge_field *field);

/** A verb of the library. Its work is collective and agreed. @p options is the verb's own struct. */
struct mf_lib_verb {
    const struct mf_cmd *verb; /* NULL: that of the model */
    int (*work)(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *result);
};

extern const struct mf_lib_verb mf_lib_characterize, mf_lib_match, mf_lib_reconstruct, mf_lib_synth, mf_lib_read,
    mf_lib_smooth, mf_lib_properties;

/** Verbs of the library alone: they describe verbs, and make structures of files. */
extern const struct mf_cmd mf_lib_help, mf_lib_reading;

/** mf_cmd_find(), which finds those, too. */
const struct mf_cmd *mf_lib_find(size_t n, const char *const *words, size_t *used);

/** Refuses a verb of the program alone: MF_USAGE. */
int mf_lib_not_here(const struct mf_cmd *verb);

/** Runs any verb, and keeps the object that it prints. */
int mf_lib_print(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *result);

/** Sets result->json: what the verb printed on rank 0. Collective. */
void mf_lib_result_printed(const mesoforge_session *session, mesoforge_result *result);

/** Finds of which kind a model is. Refuses as mf_resident_find(). Local. */
int mf_lib_model_find(mesoforge_model *model);

/** Is it a loaded model of the session? */
int mf_lib_model_has(const mesoforge_session *session, const mesoforge_model *model);

/** Refuses words of loading in a question, and of questions in loading: MF_USAGE. Completes those of a question. Local.
 */
int mf_lib_model_words(const mesoforge_model *model, struct mf_options *options, void *into);

/** Ends the models of a session. Several ranks end them together. Where MPI has ended, or a rank is lost, their
 * memory stays: 1. Collective, where collectives can follow. */
int mf_lib_models_end(mesoforge_session *session);

/** A whole call of include/mesoforge.h: enters the session, works, and leaves. The inputs are the field (where
 * @p inputs is NULL), or the words of @p inputs. Collective. */
int mf_lib_call(mesoforge_session *session, const struct mf_lib_verb *verb, const mesoforge_field *field,
                const char *inputs, const char *text, mesoforge_result **result);

/** A call loads a model, or asks one. */
enum mf_model_call { MF_MODEL_LOADS, MF_MODEL_PREDICTS, MF_MODEL_MAKES };

/** The same with a model that the call loads, or with one of the session. */
int mf_lib_call_model(mesoforge_session *session, const struct mf_lib_verb *verb, mesoforge_model *model,
                      enum mf_model_call what, const char *inputs, const char *text, mesoforge_result **result);

/** Refuses what is no model of the session, and one of the other kind: MF_USAGE. Local. */
int mf_lib_model_check(const mesoforge_model *model, enum mf_model_call what);

#endif
