/* The header of one .safetensors file, and its parts. */
#ifndef MF_IO_SAFETENSORS_PRIV_H
#define MF_IO_SAFETENSORS_PRIV_H

#include "io/safetensors.h"

enum { MF_SAFETENSORS_LENGTH = 8, MF_SAFETENSORS_HEADER = 100000000 /* bytes, as the reference implementation */ };

/** An array and the bytes that hold it, counted from the end of the header. */
struct mf_safetensors_place {
    struct mf_safetensors_entry entry; /* the name is heap */
    uint64_t begin, end;
    size_t part; /* number of the file */
};

struct mf_safetensors_header {
    struct mf_safetensors_place *place; /* [count], in the order of their names */
    size_t count;
    char **metadata; /* [2 * keys]: key, text; heap */
    size_t keys;
};

/**
 * Reads the JSON of a header; @p text [length + 1] is changed. Checks everything but the names of unknown keys. @p
 * size: bytes of all arrays. On any result mf_safetensors_header_free() must follow. MF_INPUT naming @p path;
 * MF_MEMORY.
 */
int mf_safetensors_header(const char *path, char *text, size_t length, uint64_t size, struct mf_safetensors_header *to);
void mf_safetensors_header_free(struct mf_safetensors_header *header);

/**
 * Cuts the next member out of the text of a JSON object. So a long header is never parsed as a whole. Before the first
 * member *at is NULL. *key and *value become JSON texts. 1: found; 0: there are no more; -1: this is no object.
 */
int mf_safetensors_member(char *text, char **at, char **key, char **value);

/** Sorts @p count places by their names. MF_INPUT, naming @p path, if two have one name. */
int mf_safetensors_sort(const char *path, struct mf_safetensors_place *place, size_t count);

/** *text: that of a JSON string, heap; NULL: it is none. MF_MEMORY. */
int mf_safetensors_text(const char *json, char **text);

/** All its numbers. */
size_t mf_safetensors_numbers(const struct mf_safetensors_entry *entry);

int mf_safetensors_wrong(const char *path, const char *what, const char *name);

#endif
