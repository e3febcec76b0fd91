/* See tuning.h. */
#include "kernels/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

static struct mf_algorithm *entry_of(const struct mf_algorithms *t, const char *key, size_t length)
{
    for (size_t i = 0; i < t->entries; ++i)
        if (strncmp(t->entry[i].key, key, length) == 0 && !t->entry[i].key[length]) return &t->entry[i];
    return NULL;
}

const char *mf_algorithms_find(const struct mf_algorithms *t, const char *key)
{
    const struct mf_algorithm *entry = entry_of(t, key, strlen(key));

    return entry ? entry->value : NULL;
}

static void put(struct mf_algorithms *t, const char *key, size_t length, const char *value, size_t bytes)
{
    struct mf_algorithm *entry = entry_of(t, key, length);

    if (!entry) {
        if (t->entries == t->room_for) {
            t->room_for = 2 * t->room_for + 32;
            t->entry = MF_MUST(realloc(t->entry, t->room_for * sizeof *t->entry), "algorithms");
        }
        entry = &t->entry[t->entries++];
        *entry = (struct mf_algorithm){.key = MF_MUST(strndup(key, length), "an algorithm")};
    }
    free(entry->value);
    entry->value = MF_MUST(strndup(value, bytes), "an algorithm");
}

void mf_algorithms_put(struct mf_algorithms *t, const char *key, const char *value)
{
    put(t, key, strlen(key), value, strlen(value));
    t->changed = 1;
}

char *mf_algorithms_text(const struct mf_algorithms *t)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "a text");

    for (size_t i = 0; i < t->entries; ++i) fprintf(to, "%s\t%s\n", t->entry[i].key, t->entry[i].value);
    fclose(to);
    return MF_MUST(text, "a text");
}

/* A line has one tab, with something on both sides. */
static int is_lines(const char *text)
{
    for (const char *end; *text; text = end + 1) {
        const size_t key = strcspn(text, "\t\n"), value = text[key] == '\t' ? strcspn(text + key + 1, "\t\n") : 0;

        end = text + key + 1 + value;
        if (key == 0 || value == 0 || *end != '\n') return 0;
    }
    return 1;
}

int mf_algorithms_take(struct mf_algorithms *t, const char *text, int over)
{
    if (!is_lines(text)) return mf_fail(MF_INPUT, "these are no lines of algorithms");
    for (const char *end; *text; text = end + 1) {
        const char *value = strchr(text, '\t') + 1;

        end = strchr(value, '\n');
        if (over || !entry_of(t, text, (size_t)(value - 1 - text)))
            put(t, text, (size_t)(value - 1 - text), value, (size_t)(end - value));
    }
    return MF_OK;
}

void mf_algorithms_free(struct mf_algorithms *t)
{
    for (size_t i = 0; i < t->entries; ++i) {
        free(t->entry[i].key);
        free(t->entry[i].value);
    }
    free(t->entry);
    free(t->path);
    *t = (struct mf_algorithms){0};
}
