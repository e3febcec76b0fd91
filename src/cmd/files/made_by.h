/* Which model makes samples, also in the words of another program: --model NAME --checkpoint-path FILE. */
#ifndef MF_CMD_FILES_MADE_BY_H
#define MF_CMD_FILES_MADE_BY_H

/** Options; NULL: not given. */
struct mf_made_by {
    const char *model, *weights, *arch, *prompts;
};

/** Makes of names and weights the file (model) and its network (arch). Refuses with MF_USAGE. Local. */
int mf_made_by_settle(struct mf_made_by *by);

#endif
