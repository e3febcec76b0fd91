/* See err.h. */
#include "src/base/err.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/guest.h"
#include "src/base/last_words.h"
#include "src/base/room.h"

static _Thread_local char text[MF_ERR_TEXT];
static void (*die_hook)(int code);
static struct {
    pthread_mutex_t lock; /* whoever takes the words back waits for a thread that says them */
    void (*say)(void *context);
    void *context;
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};
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

void mf_err_take(char *why, size_t size)
{
    const char *advice = strstr(text, "; try: ");

    snprintf(why, size, "%.*s", (int)(advice ? (size_t)(advice - text) : strlen(text)), text);
    mf_err_clear();
}

void mf_die_hook(void (*hook)(int code)) { die_hook = hook; }

void mf_last_words(void (*say)(void *context), void *context)
{
    pthread_mutex_lock(&last.lock);
    last.say = say;
    last.context = context;
    pthread_mutex_unlock(&last.lock);
}

void mf_err_rank(int rank) { own_rank = rank; }

/* Only the first thread that comes here ends the program. Another thread waits for that. The same thread again (from an
 * exit handler) ends at once. */
static void only_once(int code)
{
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    static _Thread_local int mine;

    if (!atomic_flag_test_and_set(&begun)) {
        mine = 1;
        return;
    }
    if (mine && mf_is_guest()) abort();
    if (mine) _exit(code);
    for (;;) pause();
}

static _Noreturn void end(int code)
{
    if (mf_is_guest()) abort();
    pthread_mutex_lock(&last.lock);
    if (last.say) last.say(last.context);
    pthread_mutex_unlock(&last.lock);
    if (die_hook) die_hook(code);
    exit(code);
}

void mf_end(int code)
{
    only_once(code);
    end(code);
}

/* One write, without stdio's buffers: lines of several ranks do not mix, and no lock can block it. */
static void print_last(const char *line)
{
    const size_t n = strlen(line);

    if (write(STDERR_FILENO, line, n) != (ssize_t)n) return; /* nobody listens */
}

void mf_die(int code, const char *file, int line, const char *format, ...)
{
    char said[MF_ERR_TEXT], where[256] = "", whole[MF_ERR_TEXT + sizeof where + 32];
    va_list args;

    only_once(code);
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    for (char *c = said; *c; ++c)
        if (*c == '\n') *c = ' ';
    if (code == MF_BROKEN) snprintf(where, sizeof where, " (%.200s:%d)", file, line);
    snprintf(whole, sizeof whole, "mesoforge: broken: %s%s\n", said, where);
    if (mf_is_guest())
        mf_guest_last(whole);
    else
        print_last(whole);
    end(code);
}

void *mf_must(void *memory, const char *file, int line, const char *what)
{
    if (!memory) mf_die(MF_MEMORY, file, line, "no memory for %s", what);
    return memory;
}

/* The number behind ":key=" in a fault specification, or @p standard. */
static long fault_key(const char *spec, const char *key, long standard)
{
    const char *at = strstr(spec, key);

    return at ? strtol(at + strlen(key), NULL, 10) : standard;
}

/* Any thread may come to a site. */
static atomic_int held, known;
static atomic_long visits;        /* of the site that is asked for */
static const char *_Atomic asked; /* once known; NULL: no site refuses */

void mf_fault_hold(int hold) { held = hold; }

void mf_fault_set(const char *fault)
{
    visits = 0;
    asked = fault;
    known = 1;
}

long mf_fault_visits(void) { return visits; }

int mf_fault(const char *site)
{
    const char *spec;
    size_t n;

    if (!known) mf_fault_set(getenv("MF_FAULT"));
    spec = asked;
    if (held || !spec) return 0;
    n = strlen(site);
    if (strncmp(spec, site, n) != 0 || (spec[n] != '\0' && spec[n] != ':')) return 0;
    if (fault_key(spec, ":rank=", own_rank) != own_rank) return 0;
    return ++visits == fault_key(spec, ":visit=", 1);
}
