/* The functions of struct mf_resident_kind that networks of infer share. */
#ifndef MF_CMD_LEARN_INFER_RESIDENT_H
#define MF_CMD_LEARN_INFER_RESIDENT_H

#include "src/cmd/resident.h"

extern const char *const mf_infer_loading[]; /* words */

int mf_infer_resident_open(struct mf_session *session, const struct mf_resident_kind *kind, void *options,
                           const char *path, void **model);
void mf_infer_resident_facts(const void *model, struct mf_json *to);
int mf_infer_resident_axes(const void *model);
int mf_infer_resident_ask(void *model, void *options, const char *const *files, size_t count,
                          const struct mf_resident_taker *taker);
void mf_infer_resident_close(void *model);

/** The kind of verb `infer KIND`. */
#define MF_INFER_RESIDENT(kind)                                                                            \
    {                                                                                                      \
        .verb = &mf_cmd_infer_##kind, .learn = &mf_learn_##kind, .loading = mf_infer_loading,              \
        .check = mf_infer_check_loading, .open = mf_infer_resident_open, .facts = mf_infer_resident_facts, \
        .axes = mf_infer_resident_axes, .ask = mf_infer_resident_ask, .close = mf_infer_resident_close,    \
    }

#endif
