/* Private to the options: opt.c (rows and arguments), opt_value.c (values), conf.c (YAML), opt_help.c (printing). */
#ifndef MF_BASE_OPT_IMPL_H
#define MF_BASE_OPT_IMPL_H

#include "src/base/opt.h"

/** Key of the positional arguments in a configuration file. */
#define MF_ARGUMENTS "arguments"

/** One option (not an alias): its row, its field and what is known of its value. */
struct mf_entry {
    const struct mf_opt *row;
    void *field;
    enum mf_origin origin;
    const char *text; /* the value, canonical: equal values have equal texts */
    const char *said; /* the word that set it, as typed */
    int control;      /* config, print-config, help: not part of the configuration */
};

/** One row, aliases included, and the option it spells. */
struct mf_spelling {
    const struct mf_opt *row;
    size_t entry;
    int negate;
};

/** Memory that lives as long as the options. */
struct mf_block {
    struct mf_block *next;
    _Alignas(max_align_t) char at[];
};

struct mf_options {
    const char *verb;
    size_t entries, spellings, positional, positional_max;
    struct mf_entry *entry;
    struct mf_spelling *spelling;
    const char **words;     /* [positional] */
    struct mf_block *owned; /* every block the options hand out */
    struct {
        const char *config;
        int print_config, help;
    } control;
};

/** How the user gave a value. */
struct mf_said {
    const char *place; /* "", or "file:line:column: " */
    const char *dashes;
    const char *word;
    enum mf_origin origin;
    int quoted; /* from YAML with quotes: a text and nothing else */
};

/** Rows of the words that belong to the parser. */
extern const struct mf_opt mf_control_opts[];

/** Memory that lives as long as the options. */
void *mf_options_keep(struct mf_options *options, size_t bytes);
char *mf_options_copy(struct mf_options *options, const char *text, size_t length);

/** '-' and '_' are the same. */
int mf_same_word(const char *a, const char *b);

/** The row spelt @p word (@p length bytes of it); NULL if none. */
const struct mf_spelling *mf_options_find(const struct mf_options *options, const char *word, size_t length);

/** The nearest spelling, as a sentence's end: "; try: --x", or "". Lives as long as the options. */
const char *mf_options_try(struct mf_options *options, const char *dashes, const char *word);

/** Gives the option a value: converts, checks choices, refuses a second value that differs. @p words [n]. */
int mf_options_set(struct mf_options *options, const struct mf_spelling *spelling, const struct mf_said *said, size_t n,
                   const char *const *words);

/** One more positional argument. */
int mf_options_argument(struct mf_options *options, const char *word);

/** The option's default: that of its row, or nothing. */
int mf_options_default(struct mf_options *options, struct mf_entry *entry);

/** Reads --config FILE: conf.c. */
int mf_options_file(struct mf_options *options, const char *path);

/** Bytes of a field of this kind. */
size_t mf_kind_size(enum mf_opt_kind kind);

#endif
