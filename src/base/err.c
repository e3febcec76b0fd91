/* See err.h. */
#include "src/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char text[MF_ERR_TEXT];
static void (*die_hook)(int code);
static int own_rank;

int(mf_fail)(int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return code;
}

const char *mf_err_text(void) { return text; }

void mf_err_clear(void) { text[0] = '\0'; }

void mf_die_hook(void (*hook)(int code)) { die_hook = hook; }

void mf_err_rank(int rank) { own_rank = rank; }

void mf_die(int code, const char *file, int line, const char *format, ...)
{
    va_list args;

    fputs("mesoforge: broken: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, " (%s:%d)\n", file, line);
    if (die_hook) die_hook(code);
    exit(code);
}

/* The number behind ":key=" in a fault specification, or @p standard. */
static long fault_key(const char *spec, const char *key, long standard)
{
    const char *at = strstr(spec, key);

    return at ? strtol(at + strlen(key), NULL, 10) : standard;
}

static int held;

void mf_fault_hold(int hold) { held = hold; }

int mf_fault(const char *site)
{
    static long visits;
    const char *spec = getenv("MF_FAULT");
    size_t n = strlen(site);

    if (held || !spec || strncmp(spec, site, n) != 0 || (spec[n] != '\0' && spec[n] != ':')) return 0;
    if (fault_key(spec, ":rank=", own_rank) != own_rank) return 0;
    return ++visits == fault_key(spec, ":visit=", 1);
}
