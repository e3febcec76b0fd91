/* Options as rows. A row has an option's word, the field it fills, its kind, its default as typed, and its help. Rule:
 * parsing, --help, man pages, configuration files, --print-config and attributes of outputs all come from the rows.
 * Words are long; '-' and '_' are the same. */
#ifndef MF_BASE_OPT_H
#define MF_BASE_OPT_H

#include <stddef.h>

#include "src/base/lists.h"

enum mf_opt_kind {
    MF_FLAG,   /* int: 1 when given. "--no-x" is a row of its own where wanted (MF_UNFLAG) */
    MF_UNFLAG, /* int: sets the field to 0, which is 1 otherwise (or what the MF_FLAG row of the same field says) */
    MF_LONG,   /* long */
    MF_REAL,   /* double */
    MF_TEXT,   /* const char * */
    MF_NAME,   /* const char *, NULL where none is given; an empty word is refused */
    MF_WORD,   /* an enum or int: the place of the word among the choices, see MF_CHOICE */
    MF_LONGS,  /* struct mf_longs: one or more words up to the next option; "0,128,255" works too */
    MF_REALS,  /* struct mf_reals */
    MF_TEXTS   /* struct mf_texts (words only; commas are part of a word) */
};

/** One option. @p alias_of: NULL, or the word of the row this one is another spelling of. */
struct mf_opt {
    const char *word; /* without "--"; NULL ends the table */
    size_t offset;    /* of the field in the options struct */
    enum mf_opt_kind kind;
    const char *standard; /* default as the user would type it; NULL: none (0, "", empty list) */
    const char *help;     /* one line, with the unit in [] */
    const char *choices;  /* NULL, or "a|b|c": anything else is refused naming the nearest */
    const char *alias_of; /* a switch with a standard is that option with this value (MF_SAME) */
};

#define MF_OPT(type, word, field, kind, standard, help)                      \
    {                                                                        \
        word, offsetof(struct type, field), kind, standard, help, NULL, NULL \
    }
/** An enum, whose first value is 0. Without a default (NULL) the first choice is 1, and 0 says that none was given. */
#define MF_CHOICE(type, word, field, standard, choices, help)                      \
    {                                                                              \
        word, offsetof(struct type, field), MF_WORD, standard, help, choices, NULL \
    }
/** One of the choices as text. */
#define MF_CHOICE_TEXT(type, word, field, standard, choices, help)                 \
    {                                                                              \
        word, offsetof(struct type, field), MF_TEXT, standard, help, choices, NULL \
    }
#define MF_ALIAS(word, of)                     \
    {                                          \
        word, 0, MF_FLAG, NULL, NULL, NULL, of \
    }
#define MF_SAME(word, of, value, help)          \
    {                                           \
        word, 0, MF_FLAG, value, help, NULL, of \
    }
#define MF_OPT_END                               \
    {                                            \
        NULL, 0, MF_FLAG, NULL, NULL, NULL, NULL \
    }

/** Where an option's value came from. */
enum mf_origin { MF_FROM_DEFAULT, MF_FROM_FOREIGN, MF_FROM_FILE, MF_FROM_ENV, MF_FROM_FLAG };

/** A key of another program's configuration file, for --config. */
struct mf_opt_key {
    const char *key;    /* "section.key"; NULL ends the table */
    const char *option; /* the word of ours; NULL: it means nothing here. Such keys are named in the log */
    const char *values; /* "theirs=ours|...", ours empty: the option stays; others are refused. NULL: any */
    int wish;           /* a plan decides about the option; the key counts where there is no plan */
};

/** The parsed options of one verb: owns every string and list it hands out. */
struct mf_options;

/**
 * Parses argv[0..argc) (what follows the verb) into the struct @p into of @p size bytes. The rows of @p tables describe
 * its fields. They are a NULL-terminated list of row tables, all with offsets into the same struct. Words without "--"
 * are collected as positional arguments when @p positional_max > 0 (refused beyond that).
 *
 * "--config FILE" (YAML or JSON) is read first; flags and positional arguments win over it. Its keys are option words,
 * or "arguments": a list of positional arguments. They may stand in sections of any name. Where @p keys (NULL: none)
 * has "section.key", that row says the meaning. The key "enabled" of such a section switches it off by false. By true
 * it gives its option a value where no other key does. An unknown key or a wrong type is refused with file:line:column.
 * The words config, print-config and help belong to the parser, unless a table has a row of that word. A caller asks
 * mf_options_origin(options, "print-config") == MF_FROM_FLAG. It looks for "--help" itself, before anything else is
 * refused (mf_options_help_asked).
 *
 * Rules: an unknown option is refused naming the nearest one. An option given twice with different values, or two
 * aliases that disagree, are refused. "--x=v" and "--x v" are the same, and a negative number is a value; "--" ends the
 * options. A list of numbers ends at the first word that is no number when positional arguments are wanted.
 *
 * Refuses with MF_USAGE (MF_INPUT when the config file cannot be read). Not collective: every rank parses the same
 * argv and the caller agrees.
 */
int mf_options_parse(struct mf_options **options, const char *verb, const struct mf_opt *const *tables,
                     const struct mf_opt_key *keys, void *into, size_t size, int argc, char **argv,
                     size_t positional_max);

void mf_options_free(struct mf_options *options);

/** Is "--help" or "-h" among these words (before a "--")? */
int mf_options_help_asked(size_t n, const char *const *words);

/** Sets option @p word from the environment variable @p variable if that is set and the option has its default. */
int mf_options_env(struct mf_options *options, const char *word, const char *variable);

/**
 * Gives option @p word the value that @p key of another program's file means; @p place is "FILE: ". The value is that
 * of the option in all respects, and --print-config names the key. Refuses with MF_USAGE what the option refuses, and a
 * value that contradicts the one which was given, naming both. Local.
 */
int mf_options_adopt(struct mf_options *options, const char *word, const char *place, const char *key,
                     const char *value);

/** Gives options that nobody has given the values of the configuration's wishes. There is no plan. MF_USAGE. Local. */
int mf_options_heed(struct mf_options *options);

/** The wish of the configuration about option @p word, as text; NULL: there is none. */
const char *mf_options_wished(const struct mf_options *options, const char *word);

/** The plan decides about option @p word if nobody has given it. --print-config says so. */
void mf_options_leave(struct mf_options *options, const char *word);

/** Keys of the configuration that mean nothing here (@p wishes: that a plan decides about), "a, b"; NULL: none. The
 * caller frees. */
char *mf_options_idle(const struct mf_options *options, int wishes);

/** Maps @p text, letters of any case, by "theirs=ours|..." to @p ours [size]. 0: it is not among them. */
int mf_key_map(const char *values, const char *text, size_t size, char *ours);

size_t mf_options_positional(const struct mf_options *options, const char *const **words);

/** The verb that they are of. */
const char *mf_options_verb(const struct mf_options *options);

/** The file of --config; NULL: none. */
const char *mf_options_config(const struct mf_options *options);

/** Is @p word, as it is typed ("--word"), an option of these tables that takes the word behind it? */
int mf_options_takes(const struct mf_opt *const *tables, const char *word);

/** The kind of @p word, an option of these tables that takes a list; else 0. */
int mf_options_is_list(const struct mf_opt *const *tables, const char *word);

/** Has the verb such an option? */
int mf_options_knows(const struct mf_options *options, const char *word);

/** Where the option @p word (or an alias of it) came from. */
enum mf_origin mf_options_origin(const struct mf_options *options, const char *word);

/** The value of option @p word (or an alias of it) as text, as mf_options_each() gives it. */
const char *mf_options_value(const struct mf_options *options, const char *word);

/** The word by which it was given: of another program's file, its key. */
const char *mf_options_said(const struct mf_options *options, const char *word);

/** Has somebody given it? The second: 0 also where the verb has no such option. */
int mf_options_given(const struct mf_options *options, const char *word);
int mf_options_has(const struct mf_options *options, const char *word);

/** Visits every option (aliases left out): word, value as text (a list: words joined by one blank), origin. */
void mf_options_each(const struct mf_options *options,
                     void (*visit)(void *context, const char *word, const char *value, enum mf_origin origin),
                     void *context);

/** Arguments and those options that were given, "--word value ...", with @p gap between them. Caller frees. */
char *mf_options_line(const struct mf_options *options, char gap);

/**
 * The configuration as YAML that reproduces the run: positional arguments (key "arguments") and every option that was
 * given. A comment says where each came from. Defaults are comments, for an option that is given can contradict another
 * and its default cannot. Caller frees.
 */
char *mf_options_yaml(const struct mf_options *options);

/** Prints mf_options_yaml(). */
void mf_options_print(const struct mf_options *options);

/** Prints the help of a verb: its rows by table, wrapped to 79 columns, defaults in (). */
void mf_options_help(const struct mf_opt *const *tables);

/** Prints the rows as roff for a man page. */
void mf_options_man(const struct mf_opt *const *tables);

#endif
