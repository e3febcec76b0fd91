/* Types of questions, and the heads that answer them: those that are known, and a file of the user. */
#ifndef MF_VQA_TYPES_H
#define MF_VQA_TYPES_H

#include <stddef.h>

#include "src/base/json.h"

/** A file of the user, in YAML or JSON. All keys may be missing.
 * - question_types {TYPE: HEAD, ..}: these types have these heads.
 * - heads {HEAD: [ANSWER, ..], ..}: the answers of a head in their order. null: the train split says them.
 * - findings {FINDING: THRESHOLD, ..}: findings in their order. */
struct mf_vqa_types {
    const char *path;      /* NULL: there is no file */
    struct mf_json *value; /* of the file */
};

/** Reads the file @p path. NULL: there is none. Refuses with MF_INPUT other keys and values. Local. The caller frees.
 */
int mf_vqa_types_load(const char *path, struct mf_vqa_types *types);
void mf_vqa_types_free(struct mf_vqa_types *types);

/** The head of a type by the file, or as it is known; NULL: it is not. Known are our seven types, and the twenty of
 * MIMIC-Ext-CXR-QBA with short forms. Local. */
const char *mf_vqa_types_head(const struct mf_vqa_types *types, const char *type);

/** Our name of a head that others call binary, category or region. Any other name is as it is. Local. */
const char *mf_vqa_head_ours(const char *name);

/** The known type, or type of the file, that is nearest to a word; NULL: none is near. Local. */
const char *mf_vqa_types_near(const struct mf_vqa_types *types, const char *word);

#endif
