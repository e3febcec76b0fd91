/* Algorithms of libraries that were the fastest of those tried. A key says what is computed and where, in words. Its
 * value says which algorithm, as the back end that tried it wrote it. */
#ifndef MF_KERNELS_TUNING_H
#define MF_KERNELS_TUNING_H

#include <stddef.h>

#ifdef __cplusplus /* files of the cuda back end include it in any order */
extern "C" {
#endif

/** Bytes of work memory that an algorithm may need: what a plan adds. */
enum { MF_TUNING_WORK = 32 << 20 };

struct mf_algorithms {
    size_t entries, room_for;
    struct mf_algorithm {
        char *key, *value;
    } * entry;
    char *path;                     /* of the file that remembers; NULL: none does */
    int changed;                    /* there is more than in that file */
    size_t tried, remembered, left; /* operations planned; left: untried, since time or memory was out */
    double seconds;                 /* of trials */
};

/** NULL: it is not known. */
const char *mf_algorithms_find(const struct mf_algorithms *tuning, const char *key);

/** Neither text has tabs or ends of lines. An older value is replaced. */
void mf_algorithms_put(struct mf_algorithms *tuning, const char *key, const char *value);

/** Lines "key, tab, value". The caller frees them. */
char *mf_algorithms_text(const struct mf_algorithms *tuning);

/** Takes such lines; @p over: also in place of what is known. Refuses others with MF_INPUT, and then takes nothing. */
int mf_algorithms_take(struct mf_algorithms *tuning, const char *text, int over);

void mf_algorithms_free(struct mf_algorithms *tuning);

#ifdef __cplusplus
}
#endif

#endif
