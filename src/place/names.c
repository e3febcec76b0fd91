/* See names.h. */
#include "src/place/names.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/model/language_files.h"
#include "src/place/strategy.h"

/* -- names -- */

__attribute__((format(printf, 2, 3))) static void add(struct mf_names *names, const char *format, ...)
{
    char *to = names->name[names->count];
    va_list words;

    if (names->count == MF_NAMES) return;
    va_start(words, format);
    vsnprintf(to, MF_NAME, format, words);
    va_end(words);
    ++names->count;
}

void mf_name_cut(char *name)
{
    for (char *word = name; word; word = strchr(word, '.') ? strchr(word, '.') + 1 : NULL) {
        const size_t length = strcspn(word, "."), digits = strspn(word, "0123456789");

        if (digits == length && length > 0) word[length] = '\0';
    }
}

/* Number of a block among blocks. */
static size_t block_number(const struct mf_parts *parts, size_t part)
{
    size_t n = 0;

    for (size_t p = 0; p < part; ++p) n += (size_t)mf_part_is_block(parts, p);
    return n;
}

/* Names of the class come first, then those of files without its prefix. */
static void add_modules(const char *weight, int is_head, const struct mf_language *model, struct mf_names *names)
{
    char name[MF_LANGUAGE_STACKED][MF_LANGUAGE_NAME];

    names->modules = names->count;
    for (size_t prefix = 0; prefix < MF_LANGUAGE_PREFIXES; ++prefix) {
        const size_t n = mf_language_arrays(model, weight, is_head, prefix, name);

        for (size_t k = 0; k < n; ++k) add(names, "%s", name[k]);
        if (prefix == 0) names->ends = names->count;
    }
}

void mf_names_find(const struct mf_parts *parts, size_t part, size_t array, const struct mf_language *model,
                   struct mf_names *names)
{
    names->count = names->modules = names->ends = 0;
    add(names, "%s", parts->part[part].name);
    if (mf_part_is_block(parts, part)) add(names, "layer.%zu", block_number(parts, part));
    if (array == parts->arrays) return;
    add(names, "%s", parts->array[array].name);
    if (model) add_modules(parts->array[array].name, part > 0 && !mf_part_is_block(parts, part), model, names);
}

/* -- patterns -- */

/* A word between dots: "0-11" meets numbers, others as file names do. */
static int word_meets(const char *word, const char *name)
{
    char *end, *last;
    const long first = strtol(word, &end, 10);
    long most, number;

    if (end == word || *end != '-') return fnmatch(word, name, 0) == 0;
    most = strtol(end + 1, &last, 10);
    if (last == end + 1 || *last) return fnmatch(word, name, 0) == 0;
    number = strtol(name, &end, 10);
    return end != name && !*end && first <= number && number <= most;
}

/* Word by word; the name may go on. */
static int words_meet(const char *pattern, const char *name)
{
    char left[MF_NAME], right[MF_NAME], *p = left, *n = right, *word;
    int how = 1;

    snprintf(left, sizeof left, "%s", pattern);
    snprintf(right, sizeof right, "%s", name);
    while (how > 0 && (word = strsep(&p, "."))) {
        const char *other = strsep(&n, ".");

        how = other && word_meets(word, other);
    }
    return how;
}

int mf_name_meets(const char *pattern, const char *name)
{
    const size_t length = strlen(pattern);
    int letters = 0, how;

    if (length == 0 || strcmp(pattern, "*") == 0) return 0;
    if (strncmp(pattern, name, length) == 0 && (!name[length] || name[length] == '.')) return 4 * (int)length + 2;
    if (!strpbrk(pattern, "*?[-")) return -1;
    for (const char *c = pattern; *c; ++c) letters += !strchr("*?[]", *c);
    how = words_meet(pattern, name);
    if (how == 0 && fnmatch(pattern, name, 0) != 0) return -1;
    return 4 * letters + how;
}
