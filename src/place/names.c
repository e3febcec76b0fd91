/* See names.h. */
#include "src/place/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/model/language_files.h"
#include "src/place/strategy.h"

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
