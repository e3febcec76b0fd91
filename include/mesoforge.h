/* mesoforge as a library. docs/LIBRARY.md has examples.
 *
 * A session computes. A field is an array of the caller, lent to a session. A call measures a field and gives a result.
 * Options are the words of the program's verbs, as text: "limit-to=16 isotropic".
 *
 * Functions that return int return MESOFORGE_OK or a code, and mesoforge_last_error() has the sentence. The library
 * never prints, exits, forks or takes signals. One call runs at a time in a process: calls of other sessions wait. A
 * session that is in a call refuses a second one, also from a callback. Callbacks return: no exception of C++ and no
 * longjmp() leaves them. After a fork the child opens a session of its own. */
#ifndef MESOFORGE_H
#define MESOFORGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- the library -- */

#define MESOFORGE_ABI 1 /* of this header */

int mesoforge_abi(void);                 /* of the library */
const char *mesoforge_version(void);     /* "0.1.0" */
const char *mesoforge_mpi_version(void); /* of the MPI that it is linked to, as MPI says it */

/* The exit codes of the program. */
enum mesoforge_code {
    MESOFORGE_OK = 0,
    MESOFORGE_USAGE = 2,   /* an option, or a call that this header forbids */
    MESOFORGE_INPUT = 3,   /* the values of a field or file */
    MESOFORGE_DEVICE = 4,  /* hardware */
    MESOFORGE_MEMORY = 5,  /* too little memory */
    MESOFORGE_NUMERIC = 6, /* arithmetic has failed: NaN, divergence */
    MESOFORGE_OUTPUT = 7,  /* a file cannot be written */
    MESOFORGE_STOPPED = 75 /* stopped when asked to */
};

struct mesoforge_error {
    int code;
    const char *sentence; /* what is wrong, and where */
    const char *advice;   /* what to try; "": nothing in particular */
};

/** The last refusal of a call in this thread; code MESOFORGE_OK: none yet. Its texts stay until the next call. */
const struct mesoforge_error *mesoforge_last_error(void);

/** Names the function that gets one line where the library breaks: a bug, or no memory for something small. The library
 * then calls abort(). Any thread may break. One function for the process; NULL: none. */
void mesoforge_on_broken(void (*take)(void *context, const char *line), void *context);

/* -- sessions -- */

typedef struct mesoforge_session mesoforge_session;

/**
 * Opens a session on this process alone, without MPI. Options (NULL: none) are these of the program: device, threads,
 * memory-limit, gpu-memory-fraction, gpu_ids, share-gpu, exchange, deterministic, timeout. With trust-files it decodes
 * pictures, HDF5 and other files in this process, which a damaged file may take down.
 */
int mesoforge_open(mesoforge_session **session, const char *options);

/**
 * Opens a session on the ranks of a communicator; @p comm points to an MPI_Comm. The library works on copies of it. MPI
 * stays the caller's: it has called MPI_Init_thread, with MPI_THREAD_FUNNELED at least. It calls MPI_Finalize, and
 * calls the library from its main thread. Every call in the session is collective: all ranks give the same options and
 * fields. Ranks that call different functions are all refused. Where a rank does not come within timeout=600 seconds
 * (0: for ever), the others lose the session: MESOFORGE_DEVICE. The compiler checks the arguments of
 * mesoforge_open_mpi(), which does the same.
 */
int mesoforge_open_ranks(mesoforge_session **session, const void *comm, const char *options);

#ifdef MESOFORGE_WITH_MPI /* mpi.h stands before this header */
static inline int mesoforge_open_mpi(mesoforge_session **session, MPI_Comm comm, const char *options)
{
    return mesoforge_open_ranks(session, &comm, options);
}
#endif

/** Names the function that gets the lines of the log during calls, in the calling thread. Level 10: debug, 20:
 * information, 30: a warning. NULL: none. */
int mesoforge_on_log(mesoforge_session *session, void (*take)(void *context, int level, const char *line),
                     void *context);

/** Names the function that hears of progress during calls, in the calling thread, at least twice a second. It gets a
 * name and the share that is done, 0 to 1; less than 0: nobody knows. It answers 1 to go on, and 0 to stop. NULL: none.
 */
int mesoforge_on_progress(mesoforge_session *session, int (*go_on)(void *context, const char *what, double share),
                          void *context);

/** Asks the call that the session is in to stop, from any thread. It returns MESOFORGE_STOPPED before its next
 * evaluation, or piece of input or measure. Without a call nothing happens. */
int mesoforge_cancel(mesoforge_session *session);

/** Ends a session and its fields; results stay. Where its wait for other ranks is stopped, the session stays open.
 * Collective. NULL is accepted. */
int mesoforge_close(mesoforge_session *session);

/* -- arrays and fields -- */

enum { MESOFORGE_AXES = 8 };

struct mesoforge_array {
    const char
        *type; /* of NumPy: "b1", "u1" to "u8", "i1" to "i8", "f2" to "f8"; before it the order of bytes, < or > */
    int ndim;
    size_t shape[MESOFORGE_AXES];
    ptrdiff_t stride[MESOFORGE_AXES]; /* bytes from one element to the next along each axis; may be negative */
    const void *data;                 /* the element with all indices 0 */
    size_t first, planes;    /* of a slab: the number of its first plane in a volume of so many; planes 0: no slab */
    const char *name, *axes; /* in results: "all/s2", "phase level du dv" */
};

typedef struct mesoforge_field mesoforge_field;

/**
 * Lends an image [y][x] or a volume [z][y][x] to a session. Its values mean what they mean in a .npy file: labels, grey
 * values, or phases side by side. Nothing is copied or changed here. The values stay the caller's, and every call reads
 * them anew. They must stay until mesoforge_field_free(). Where an option names a file, it may name a field:
 * mask=@cover is the field "cover". With ranks, each lends the whole array, or a slab. Whole arrays that differ are
 * refused, by a checksum of 1024 elements. A slab has some planes of a volume [z][y][x] or [z][y][x][phase]. Every
 * plane has one rank that lends it. A rank may lend none.
 */
int mesoforge_field_array(mesoforge_session *session, const char *name, const struct mesoforge_array *array,
                          mesoforge_field **field);
int mesoforge_field_free(mesoforge_session *session, mesoforge_field *field); /* NULL is accepted */

/** Which planes of a volume of @p planes this rank computes. Slabs that are cut so are read where they stand; others
 * are copied between ranks in each call. Not collective. */
int mesoforge_slab(mesoforge_session *session, size_t planes, size_t *first, size_t *count);

/** With @p wanted 1 volumes of mesoforge_match() come out in slabs, each rank's as mesoforge_slab() says. With 0, as at
 * first, every rank gets the whole. The same on all ranks. Not collective. */
int mesoforge_slabs(mesoforge_session *session, int wanted);

/* -- work -- */

typedef struct mesoforge_result mesoforge_result;

/** Measures the descriptors of a field. Options (NULL: none) are those of `mesoforge characterize`, without those about
 * files. A list is its word again: "measures=surface measures=euler"; numbers may have commas: "labels=0,255". Quotes
 * keep blanks: "unit='nano metre'". */
int mesoforge_characterize(mesoforge_session *session, const mesoforge_field *field, const char *options,
                           mesoforge_result **result);

/**
 * Makes a structure with the statistics of a field, as `mesoforge match` does: "size=64,64,64 seed=3". Options are
 * those of the verb, without those about files and realisations. But "output=FILE.h5" writes the verb's file. Beside it
 * "checkpoint-every=..", "max-hours=.." and "restart=auto" keep checkpoints. The verb may continue them, too.
 *
 * A match that is stopped returns MESOFORGE_STOPPED, and *result is the best so far. It has exact volume fractions, and
 * "stopped" in its JSON. NULL: the match had found nothing yet. A match with an output first ends its step and writes a
 * checkpoint.
 */
int mesoforge_match(mesoforge_session *session, const mesoforge_field *field, const char *options,
                    mesoforge_result **result);

/**
 * Runs a verb of the program by its name, as "compare", "synth", "infer classify" or "plan match". Inputs (NULL: none)
 * stand behind the verb on a command line. They are files, and fields by their names: "@target @result". Quotes keep
 * blanks. Options are those of the verb. Two verbs are the library's own: help describes the options of a verb, and
 * read makes a structure. The verbs reconstruct, synth, smooth and read have the arrays of mesoforge_match().
 * Properties have potential and flux with "fields=@". Other verbs give the object of --json alone, and with output=FILE
 * they write that file.
 */
int mesoforge_run(mesoforge_session *session, const char *verb, const char *inputs, const char *options,
                  mesoforge_result **result);

/* -- models: their weights stay loaded between calls -- */

typedef struct mesoforge_model mesoforge_model;

/**
 * Loads a model of `mesoforge train classify`, regress, vqa or unet, or the folder of a language model that continues
 * texts. Options (NULL: none) are those about the model of the verb that asks it:
 * - infer classify, infer regress: batch-size, pp, map, zero, offload-weights
 * - infer answer: question, type, batch-size, zero, offload-weights
 * - generate: pass-size, guidance-scale, mixed-precision
 * - infer text-generation: context, requests, dtype, keep, tp, pp, map, zero, offload-weights, plan
 *
 * A language model takes memory for so many requests of the whole context. A model is the session's, and ends with it.
 * Collective.
 */
int mesoforge_model_load(mesoforge_session *session, const char *path, const char *options, mesoforge_model **model);

/** Facts of a model as an object. It has the "verb" that asks it, and the "bytes" of its arrays on this rank. Its "map"
 * has the place of each part; the part "" is the whole. A sample has the "shape" [nz, ny, nx, channels], and "outputs"
 * are names. The text stays until the model is freed. */
const char *mesoforge_model_json(const mesoforge_model *model);

/**
 * Asks a model about inputs: fields by their names ("@image @volume"), and files. An array with one axis more than a
 * sample is a stack of samples, "@image[0]" and on. Options are those of the model's verb about inputs: "labels=0,255".
 * Where one input is refused, the call is: there is no result.
 * The result has the verb's object and the array "probabilities" or "values", "f4" [sample][output]. Its numbers
 * have the bits of the verb. Collective.
 */
int mesoforge_model_predict(mesoforge_session *session, mesoforge_model *model, const char *inputs, const char *options,
                            mesoforge_result **result);

/**
 * Makes samples or texts, as the verb does and with its bits. Collective.
 * - A model of train unet: "num-samples=16 seed=3 first=0 condition=NAME=VALUE", also steps, conditioning-sigma and
 *   samples-per-class. The result has the array "samples", "u1" or "f4", [sample][z][y][x][channel] without axes of
 *   length 1. Models with conditions also give "class" and "condition" [sample][column].
 * - A language model: @p prompts are words, and quotes keep blanks, "'The pore network' Once". NULL: an option has
 * them. Options are also max-new-tokens, temperature, seed, stop and so on. The verb's object has the texts.
 */
int mesoforge_model_generate(mesoforge_session *session, mesoforge_model *model, const char *prompts,
                             const char *options, mesoforge_result **result);

int mesoforge_model_free(mesoforge_session *session, mesoforge_model *model); /* NULL is accepted. Collective */

/* -- results: they outlive their session, and one thread at a time uses one -- */

/** The object that the verb prints with --json. The text stays until the result is freed. */
const char *mesoforge_result_json(mesoforge_result *result);

/**
 * Array number @p i of a result, in C order; 0: there are fewer. Values stay until the result is freed.
 * - A characterization has the data sets of the verb's file, "f8", by their names there (docs/FILES.md).
 * - A match has "phase", "u1" [z][y][x] or [y][x], and "labels", "i8": the label of each phase.
 * - Properties have "potential_x" and "flux_x", "f4", for each axis.
 */
int mesoforge_result_array(const mesoforge_result *result, size_t i, struct mesoforge_array *array);

/** Writes a structure, whose ending chooses the format as in the program: .h5, .vtkhdf, .npy, .tif or .png. A target
 * becomes an .h5 file of descriptors, or a picture, .png. Collective. */
int mesoforge_result_save(mesoforge_session *session, mesoforge_result *result, const char *path);

/* -- targets: what mesoforge_characterize() measures -- */

/** Reads a file of descriptors, in a session with trust-files. Collective. */
int mesoforge_target_load(mesoforge_session *session, const char *path, mesoforge_result **target);

/** Lends a target to a session, under a name that stands for its file: descriptor-filename=@goal. Or lends a structure,
 * with its labels, spacing and unit. The result must stay until mesoforge_field_free(). */
int mesoforge_field_target(mesoforge_session *session, const char *name, const mesoforge_result *result,
                           mesoforge_field **field);

/** The mean of targets with the same labels, lags and directions. Weights sum to 1; NULL: they are equal. */
int mesoforge_target_mean(mesoforge_session *session, const mesoforge_result *const *targets, const double *weights,
                          size_t count, mesoforge_result **target);

void mesoforge_result_free(mesoforge_result *result); /* NULL is accepted */

#ifdef __cplusplus
}
#endif

#endif
