/* The plan of a language model before memory is taken: its requests, its context and its bytes. */
#ifndef MF_CMD_INFER_PLAN_H
#define MF_CMD_INFER_PLAN_H

#include "src/base/json.h"
#include "src/cmd/planned.h"
#include "src/gen/engine.h"
#include "src/gen/workload.h"

/** The row of --plan, in the options of a verb. No file is read: prompts decide. */
#define MF_INFER_PLAN_ROW(type)                 \
    MF_CHOICE_TEXT(                             \
        type, "plan", plan, "auto", "auto|off", \
        "auto: the run is planned, and refused before memory is taken where it does not fit; off: it begins")

/** The row of --map: mf_place_map_stages() takes it. */
#define MF_MAP_ROW(type)                                                                                           \
    MF_OPT(type, "map", map, MF_TEXT, NULL,                                                                        \
           "which stage has which part: layers.0=cuda:0,*=cuda:1, or a file (mesoforge map); names: cpu, cuda:N, " \
           "rank:N. "                                                                                              \
           "With one rank cpu means its cores beside its GPU")

/** The rows of --dtype and --keep: mf_language_weigh() takes them. */
#define MF_DTYPE_ROWS(type)                                                                                         \
    MF_CHOICE_TEXT(                                                                                                 \
        type, "dtype", dtype, "auto", "auto|f32|bf16|f16|int8",                                                     \
        "weights of products and tables of tokens in memory; auto: as in the file where it has 16 bits, else f32"), \
        MF_OPT(type, "keep", keep, MF_TEXTS, NULL,                                                                  \
               "with --dtype int8: leave these weights in 16 bits: head, layers.0-3, layers.*.inner")

/** The rows of --zero and --offload-weights: mf_infer_check_streams() looks at them. */
#define MF_STREAM_ROWS(type)                                                                                          \
    MF_OPT(type, "zero", zero, MF_LONG, "0",                                                                          \
           "3: ranks cut every weight, and gather those of a block while the one before it is computed; 0: they do "  \
           "not"),                                                                                                    \
        MF_CHOICE(type, "offload-weights", offload, "none", "none|host",                                              \
                  "host: weights that do not fit a GPU stand in host memory. They are copied while the block before " \
                  "is computed")

/** Refuses with MF_USAGE what does not go together. Local. */
int mf_infer_check_streams(const struct mf_session *session, long zero, int host, const char *map);

/** Refuses with MF_USAGE weights in host memory (@p host) where there is no other. Local. */
int mf_infer_check_host(const struct mf_session *session, int host);

/** Plans a run on this rank's device. Sets @p wish, and what session->predicted has. Without a plan ("off") they follow
 * from @p work: its context, or that of the model. A line says the plan. Call mf_run_plan_free(), also after a refusal.
 * Collective; refuses (agreed) with MF_MEMORY, naming bytes needed and there, and the longest context that fits. */
int mf_infer_plan(struct mf_session *session, const struct mf_gen_work *work, const char *plan,
                  struct mf_engine_wish *wish, struct mf_run_plan *made);

/** Refuses with MF_USAGE where --tp (@p tensor) and --pp (@p stages) do not make the number of ranks; 0: left out. One
 * rank is not refused: launch may not know the number yet. Reads no file, so launch calls it, too. Local. */
int mf_infer_check_ways(const struct mf_session *session, long tensor, long stages);

/** Refuses (agreed) with MF_INPUT where ranks see different files of a model (mf_same_file()). Collective. */
int mf_infer_same(const struct mf_session *session, const char *folder);

/** For --dry-run: counts the bytes of such a run in the session's arenas. Sets the context and the pages that the plan
 * of a run would give it. Collective; refuses with MF_MEMORY what exceeds --memory-limit. */
int mf_infer_book(struct mf_session *session, struct mf_gen_work *work);

/** Prints what a dry run has counted. Collective; MF_OUTPUT. */
int mf_infer_counted(const struct mf_session *session, const struct mf_gen_work *work);

#endif
