/* See enumerate.h. */
#include "src/base/enumerate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

void mf_enumerate(char *text, size_t room, const char *format, ...)
{
    static const char more[] = ", ..";
    const char *between = *text ? ", " : "";
    const size_t used = strlen(text);
    char *item = NULL;
    va_list values;

    if (mf_ends_with(text, more)) return;
    va_start(values, format);
    if (vasprintf(&item, format, values) < 0) item = NULL;
    va_end(values);
    item = MF_MUST(item, "a list");
    if (used + strlen(between) + strlen(item) + sizeof more <= room)
        snprintf(text + used, room - used, "%s%s", between, item);
    else
        snprintf(text + used, room - used, "%s", used ? more : "..");
    free(item);
}
