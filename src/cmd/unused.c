/* See unused.h. */
#include "src/cmd/unused.h"

#include <stdarg.h>
#include <stdio.h>

#include "src/base/log.h"

enum { WORDS = 512 };

void mf_unused(const struct mf_session *s, const char *const *words, const char *why, ...)
{
    char list[WORDS] = "", reason[WORDS];
    size_t used = 0, count = 0;
    va_list values;

    for (; *words; ++words)
        if (mf_given(s, *words) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s--%s", count++ ? ", " : "", *words);
    if (count == 0) return;
    va_start(values, why);
    vsnprintf(reason, sizeof reason, why, values);
    va_end(values);
    mf_warn("%s ha%s no effect: %s", list, count == 1 ? "s" : "ve", reason);
}
