/* See version.h. */
#include "src/base/version.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <jansson.h>
#include <yaml.h>

void mf_base_version(FILE *to)
{
    fprintf(to, "  libyaml   %s\n  jansson   %s\n", yaml_get_version_string(), JANSSON_VERSION);
}

struct id {
    char *text;
    size_t n;
};

/* The notes of one segment: name and content, each padded to four bytes. */
static int find_note(const char *at, const char *end, const struct id *to)
{
    ElfW(Nhdr) note;

    for (size_t length; at + sizeof note <= end; at += length) {
        const unsigned char *id;

        memcpy(&note, at, sizeof note);
        id = (const unsigned char *)at + sizeof note + ((note.n_namesz + 3) & ~3U);
        length = sizeof note + ((note.n_namesz + 3) & ~3U) + ((note.n_descsz + 3) & ~3U);
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(at + sizeof note, "GNU", 4) != 0) continue;
        for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < to->n; ++i) snprintf(to->text + 2 * i, 3, "%02x", id[i]);
        return 1;
    }
    return 0;
}

/* The first object is the program itself. */
static int find_id(struct dl_phdr_info *object, size_t size, void *into)
{
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const char *at = (const char *)(object->dlpi_addr + part->p_vaddr);

        if (part->p_type == PT_NOTE && find_note(at, at + part->p_memsz, into)) break;
    }
    return 1;
}

void mf_build_id(char *text, size_t n)
{
    struct id id = {text, n};

    if (n > 0) *text = '\0';
    (void)dl_iterate_phdr(find_id, &id);
}
