/* A set as a tree of files, for programs that read pictures, .npz and JSON. docs/FILES.md has the layout.
 * Rule: the tree follows from the complete set, so it can be made at any time. */
#ifndef MF_CMD_FILES_TREE_H
#define MF_CMD_FILES_TREE_H

#include "io/dataset.h"
#include "src/cmd/cmd.h"

enum { MF_TREE_PNG = 1, MF_TREE_NPZ = 2, MF_TREE_JSON = 4 };

struct mf_tree {
    const struct mf_dataset *set;
    const char *folder;
    unsigned parts; /* of the above */
    size_t count;
    const size_t *id;             /* [count] samples */
    const struct mf_reals *range; /* of pictures, as mf_pictures_levels() takes it; phases are spread evenly */
};

/** Reads "png,npz,json" of option @p option. MF_USAGE. Local. */
int mf_tree_parts(const char *option, const struct mf_texts *words, unsigned *parts);

/** Writes the tree; ranks share the samples. Collective. Refuses (agreed) with MF_USAGE samples that are no pictures.
 * The same holds for .npz of a set without activations. MF_INPUT, MF_OUTPUT. */
int mf_tree_write(struct mf_session *session, const struct mf_tree *tree);

/** The same of all samples of the set at @p path, beside it. Collective. */
int mf_tree_beside(struct mf_session *session, const char *path, unsigned parts);

#endif
