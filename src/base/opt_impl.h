/* Private to the options: opt.c (rows and arguments), opt_value.c (values), conf.c (YAML), conf_keys.c (what its keys
 * mean), opt_help.c (printing). */
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
    int left;         /* the plan decides, unless somebody has given it */
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

/** A key of the configuration file and its value. */
struct mf_item {
    const char *section; /* "a.b.", or "" */
    const char *key;
    const char *at, *place; /* "file:line:column: " of key and value */
    size_t count;
    const char *const *words; /* [count] */
    int quoted, list;         /* a text in quotes; a list */
};

/** One of another program that has no effect so far: without a meaning here, or a wish. */
struct mf_noted {
    struct mf_noted *next;
    const char *key;                    /* with its section */
    const struct mf_spelling *spelling; /* of a wish; NULL: it has no meaning */
    const char *text;                   /* its value, canonical */
    const struct mf_item *item;
    size_t count;
    const char *const *words; /* [count] */
};

struct mf_options {
    const char *verb;
    const struct mf_opt_key *keys; /* NULL: none */
    struct mf_noted *noted;        /* in the order of the file */
    int heeded;                    /* wishes have an effect */
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

/** The row of this word; NULL: none. */
const struct mf_opt *mf_row_of(const struct mf_opt *const *tables, const char *word);

/** Is it a switch that is another option with a value? */
int mf_is_same(const struct mf_opt *row);

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

/** The value's canonical text if mf_options_set() would take these words; nothing is set. MF_USAGE. */
int mf_options_would(struct mf_options *options, const struct mf_spelling *spelling, const struct mf_said *said,
                     size_t n, const char *const *words, const char **text);

/** One more positional argument. */
int mf_options_argument(struct mf_options *options, const char *word);

/** The option's default: that of its row, or nothing. */
int mf_options_default(struct mf_options *options, struct mf_entry *entry);

/** Reads --config FILE: conf.c. */
int mf_options_file(struct mf_options *options, const char *path);

/** Do keys of other programs begin with this section? conf_keys.c. */
int mf_keys_have(const struct mf_options *options, const char *section);

/** Gives options the values of a file's items. MF_USAGE. */
int mf_options_take(struct mf_options *options, size_t items, const struct mf_item *item);

/** Is it to be told? Not a wish that has an effect, or whose option was given otherwise. */
int mf_noted_shown(const struct mf_options *options, const struct mf_noted *one);

/** Refuses a key that means no option, naming the nearest: MF_USAGE. */
int mf_options_unknown(struct mf_options *options, const struct mf_item *item);

/** Does it take one word as it stands? */
static inline int mf_kind_is_text(enum mf_opt_kind kind) { return kind >= MF_TEXT && kind <= MF_WORD; }

/** Bytes of a field of this kind. */
size_t mf_kind_size(enum mf_opt_kind kind);

#endif
