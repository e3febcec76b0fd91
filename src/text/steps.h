/* Steps that change a text or cut it: normalisers, pre-tokenizers and decoders of a tokenizer's file. A kind of step is
 * a row of a table. */
#ifndef MF_TEXT_STEPS_H
#define MF_TEXT_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "src/text/buffer.h"
#include "src/text/pattern.h"
#include "src/text/read.h"

struct mf_text_step;

/** A kind of step. Rows of a table end with name NULL. */
struct mf_text_step_kind {
    const char *name;        /* its "type" in files */
    const char *const *keys; /* that a file may have, NULL-terminated, "type" among them */
    /** Reads what the step needs: MF_INPUT. NULL: nothing. */
    int (*read)(const struct mf_part *part, struct mf_text_step *step);
    /** Writes into @p to, which is empty, what the step makes of @p from. Refuses with MF_INPUT. */
    int (*apply)(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to);
};

struct mf_text_step {
    const struct mf_text_step_kind *kind;
    struct mf_pattern *pattern;
    struct mf_bytes text; /* that it puts, looks for or takes away */
    size_t number[2];
    int flag[4];
};

enum { MF_STEPS_MOST = 64, MF_TEXT_MOST = 1 << 30 /* bytes of a text */ };

struct mf_text_steps {
    size_t count;
    struct mf_text_step step[MF_STEPS_MOST];
};

/**
 * Reads a step, or a "Sequence" of them under the key @p list; null is no step. Refuses with MF_INPUT a type that no
 * row of @p kinds has, naming those that there are. The caller frees the chain in every case.
 */
int mf_text_steps_read(const struct mf_part *part, const char *list, const struct mf_text_step_kind *kinds,
                       struct mf_text_steps *chain);

/** Runs all steps. The result is in *pieces; *spare is room for work. */
int mf_text_steps_run(const struct mf_text_steps *chain, struct mf_pieces *pieces, struct mf_pieces *spare);

void mf_text_steps_free(struct mf_text_steps *chain);

/** The tables. */
extern const struct mf_text_step_kind mf_normalisers[], mf_splitters[];

#endif
