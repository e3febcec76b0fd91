/* All names by which a weight of a part is known. Private to the room. */
#ifndef MF_PLACE_NAMES_H
#define MF_PLACE_NAMES_H

#include "src/model/language.h"
#include "src/place/parts.h"

enum { MF_NAMES = 16, MF_NAME = 220 };

struct mf_names {
    size_t count;
    char name[MF_NAMES][MF_NAME];
    size_t modules; /* the first of names that transformers has, of its class; they end before ends */
    size_t ends;
};

/** The names of weight @p array in part @p part. With parts->arrays they are those of the part itself. */
void mf_names_find(const struct mf_parts *parts, size_t part, size_t array, const struct mf_language *model,
                   struct mf_names *names);

/** Ends a name behind its first number: "blocks.3.attn" becomes "blocks.3". */
void mf_name_cut(char *name);

#endif
