/* Names of arrays in the files of each family. A table has a part of the network, and the arrays that are stacked to
 * it. Private to language_files.c. */
#ifndef MF_MODEL_LANGUAGE_NAMES_H
#define MF_MODEL_LANGUAGE_NAMES_H

#include "src/model/language_files.h"

/* Arrays of a part, one above the other. Behind their names stands ".weight" or ".bias". "%zu" is the layer, and the
 * second one the expert. */
struct mf_language_part {
    const char *part, *array[MF_LANGUAGE_STACKED];
    int turned; /* it is stored as [in][out] */
    int blocks; /* the array itself is so many, one above the other; 0: one */
    int joined; /* the array has all experts [experts][out][in], and no end of its name */
};

struct mf_language_names {
    const struct mf_language_part *part;      /* ends with a row without a name; NULL: it is not read */
    const char *prefix[MF_LANGUAGE_PREFIXES]; /* with which files begin their names */
    const struct mf_language_part *joined;    /* names of files that join experts */
};

extern const struct mf_language_names mf_language_names[MF_LANGUAGE_FAMILIES];

#endif
