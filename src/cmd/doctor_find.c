/* See doctor.h: what is found. */
#include <stdarg.h>
#include <stdio.h>

#include "src/base/err.h"
#include "src/cmd/doctor.h"

void mf_find(struct mf_findings *to, enum mf_health state, const char *what, const char *remedy, const char *format,
             ...)
{
    struct mf_finding *f;
    va_list args;

    MF_ASSERT(to->count < sizeof to->at / sizeof *to->at);
    f = &to->at[to->count++];
    f->state = state;
    snprintf(f->what, sizeof f->what, "%s", what);
    snprintf(f->remedy, sizeof f->remedy, "%s", remedy);
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}
