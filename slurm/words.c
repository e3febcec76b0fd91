/* See words.h. */
#include "slurm/words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { COLUMNS = 100 };

enum mf_word { PLAIN, NUMBERED, BARE /* the shell's own */ };

static void take(struct mf_words *words, char *word, enum mf_word kind)
{
    size_t n = words->count + 1;

    if ((n & (n - 1)) == 0) { /* full: room for words and NULL doubles at powers of two */
        words->at = MF_MUST(realloc(words->at, 2 * n * sizeof *words->at), "a command");
        words->kind = MF_MUST(realloc(words->kind, 2 * n), "a command");
    }
    words->kind[words->count] = (unsigned char)kind;
    words->at[words->count++] = MF_MUST(word, "a command");
    words->at[words->count] = NULL;
}

void mf_words_add(struct mf_words *words, const char *word) { take(words, strdup(word), PLAIN); }

void mf_words_shell(struct mf_words *words, const char *text) { take(words, strdup(text), BARE); }

void mf_words_say(struct mf_words *words, const char *format, ...)
{
    char *word = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&word, format, args) < 0) word = NULL;
    va_end(args);
    take(words, word, PLAIN);
}

void mf_words_all(struct mf_words *words, size_t count, const char *const *more)
{
    for (size_t i = 0; i < count; ++i) mf_words_add(words, more[i]);
}

void mf_words_numbered(struct mf_words *words, size_t count, const char *const *more)
{
    for (size_t i = 0; i < count; ++i) take(words, strdup(more[i]), NUMBERED);
}

void mf_words_free(struct mf_words *words)
{
    for (size_t i = 0; i < words->count; ++i) free(words->at[i]);
    free(words->at);
    free(words->kind);
    *words = (struct mf_words){0};
}

/* Its pieces between "%a" quoted, the variable between them. */
static void print_word(FILE *to, const char *word, const char *variable)
{
    const char *at = variable ? strstr(word, "%a") : NULL;

    for (; at; word = at + 2, at = strstr(word, "%a")) {
        char *piece = MF_MUST(strndup(word, (size_t)(at - word)), "a command");

        if (*piece) mf_quote(to, piece);
        fprintf(to, "\"$%s\"", variable);
        free(piece);
        if (!at[2]) return;
    }
    mf_quote(to, word);
}

static char *text_of(const char *word, const char *variable)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a command");

    print_word(to, word, variable);
    if (fclose(to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a command");
    return text;
}

void mf_words_print(FILE *to, const struct mf_words *words, const char *variable)
{
    size_t column = 0;

    for (size_t i = 0; i < words->count; ++i) {
        const enum mf_word kind = (enum mf_word)words->kind[i];
        char *text = kind == BARE ? MF_MUST(strdup(words->at[i]), "a command")
                                  : text_of(words->at[i], kind == NUMBERED ? variable : NULL);
        size_t length = strlen(text);

        if (i > 0 && column + 1 + length > COLUMNS) {
            fputs(" \\\n   ", to);
            column = 3;
        }
        column += (size_t)fprintf(to, "%s%s", i > 0 ? " " : "", text);
        free(text);
    }
}
