/* See lib.h and include/mesoforge.h: sessions, errors, and the begin and end of every call. */
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/adopt.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log_divert.h"
#include "src/base/phase.h"
#include "src/base/pulse.h"
#include "src/cmd/same.h"
#include "src/lib/lib.h"

static struct {
    pthread_mutex_t list; /* of the sessions */
    mesoforge_session *open;
    pthread_mutex_t call; /* whoever computes has it */
} all = {.list = PTHREAD_MUTEX_INITIALIZER, .call = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct {
    int code;
    char sentence[MF_ERR_TEXT], advice[MF_ERR_TEXT];
    struct mesoforge_error error;
} last;

static _Thread_local int is_inside; /* this thread is in a call */

int mesoforge_abi(void) { return MESOFORGE_ABI; }

const char *mesoforge_version(void) { return MF_VERSION; }

const char *mesoforge_mpi_version(void) { return mf_comm_version(); }

const struct mesoforge_error *mesoforge_last_error(void)
{
    last.error = (struct mesoforge_error){last.code, last.sentence, last.advice};
    return &last.error;
}

void mesoforge_on_broken(void (*take)(void *context, const char *line), void *context)
{
    mf_guest_broken(take, context);
}

int mf_lib_told(int rc)
{
    static const char mark[] = "; try: ";
    const char *advice = rc == MF_OK ? NULL : strstr(mf_err_text(), mark);

    if (rc == MF_OK) return rc;
    last.code = rc;
    snprintf(last.advice, sizeof last.advice, "%s", advice ? advice + strlen(mark) : "");
    mf_err_take(last.sentence, sizeof last.sentence);
    return rc;
}

/* The child of a fork has a copy of the locks, which another thread may have held. Its only thread may come from a
 * callback. */
static void begin_anew(void)
{
    is_inside = 0;
    mf_pulse_forked();
    pthread_mutex_init(&all.list, NULL);
    pthread_mutex_init(&all.call, NULL);
}

static void heed_forks(void) { (void)pthread_atfork(NULL, NULL, begin_anew); }

static void lock_list(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, heed_forks);
    pthread_mutex_lock(&all.list);
}

static int is_open(const mesoforge_session *session)
{
    const mesoforge_session *at = all.open;

    while (at && at != session) at = at->next;
    return at != NULL;
}

/* Under the lock of the list. */
static int begin(mesoforge_session *session)
{
    if (!session || !is_open(session)) return mf_fail(MF_USAGE, "this is no open session");
    if (session->process != getpid())
        return mf_fail(MF_USAGE, "the session was opened before this process was forked; try: open another one here");
    if (session->busy)
        return mf_fail(MF_USAGE, "the session is in a call, of another thread or of the one that called back");
    if (is_inside) return mf_fail(MF_USAGE, "a callback cannot call the library");
    session->busy = 1;
    atomic_store(&session->stop, 0);
    return MF_OK;
}

static void take_line(void *context, enum mf_log_level level, const char *line)
{
    static const int number[] = {[MF_QUIET] = 40, [MF_WARN] = 30, [MF_INFO] = 20, [MF_DEBUG] = 10};
    mesoforge_session *s = context;

    if (s->take_line) s->take_line(s->line_context, number[level], line);
}

static void take_step(void *context, const char *what, double share)
{
    mesoforge_session *s = context;

    if (s->go_on && !s->go_on(s->step_context, what, share)) atomic_store(&s->stop, 1);
}

/* Numbers are written and read with a point, whatever the language of the host. */
static void *use_locale(void)
{
    static locale_t plain;

    if (!plain) plain = newlocale(LC_ALL_MASK, "C", NULL);
    return plain ? uselocale(plain) : NULL;
}

/* The calling thread becomes one of ours. */
static void put_on(mesoforge_session *s)
{
    pthread_mutex_lock(&all.call);
    is_inside = 1;
    s->locale_before = use_locale();
    mf_log_divert(take_line, s);
    mf_progress_divert(take_step, s);
    mf_guest_heed(&s->stop);
    mf_pulse_begin();
    mf_guest_trust(s->trusts);
    mf_lend(s->fields ? &s->fields->lent : NULL);
    mf_threads_enter(s->work.session.threads > 0 ? s->work.session.threads : 1, &s->threads_before);
}

static void put_off(const mesoforge_session *s)
{
    mf_threads_leave(&s->threads_before);
    mf_lend(NULL);
    mf_guest_trust(0);
    mf_pulse_end();
    mf_guest_heed(NULL);
    mf_progress_divert(NULL, NULL);
    mf_log_divert(NULL, NULL);
    if (s->locale_before) uselocale(s->locale_before);
    is_inside = 0;
    pthread_mutex_unlock(&all.call);
}

int mf_lib_enter(mesoforge_session *session)
{
    int rc;

    lock_list();
    rc = begin(session);
    pthread_mutex_unlock(&all.list);
    if (rc == MF_OK) put_on(session);
    return rc;
}

int mf_lib_leave(mesoforge_session *session, int rc)
{
    put_off(session);
    lock_list();
    session->busy = 0;
    pthread_mutex_unlock(&all.list);
    return mf_lib_told(rc);
}

/* Collective. */
static int open_work(mesoforge_session *s)
{
    s->common.unbound = 1;
    MF_TRY(mf_agree(&s->comm, mf_common_check(&s->common)));
    s->work = (struct mf_verb_call){.session = {.comm = &s->comm,
                                                .settings = mf_common_settings(&s->common),
                                                .start = mf_now(),
                                                .work = MF_WORK_GPUS},
                                    .common = &s->common,
                                    .options = s->options};
    s->patience = s->work.session.settings.patience;
    s->work.session.settings.patience = 0;     /* the watch is the program's */
    s->work.session.settings.level = MF_DEBUG; /* whoever takes the lines chooses */
    MF_TRY(mf_session_begin(&s->work.session));
    return mf_session_open(&s->work.session);
}

/* Collective, from here on. */
static int open_here(mesoforge_session *s, const void *comm, const char *text)
{
    int rc = MF_OK;

    mf_comm_self(&s->comm);
    if (comm) MF_TRY(mf_comm_adopt(&s->comm, comm));
    rc = mf_agree(&s->comm, mf_lib_open_options(text, s));
    if (rc == MF_OK) rc = mf_same_options(&s->comm, s->options);
    return rc == MF_OK ? open_work(s) : rc;
}

static void end(mesoforge_session *s)
{
    if (mf_lib_models_end(s))
        mf_phases_hook(NULL, NULL); /* arrays of its arenas stay */
    else if (s->work.session.comm)
        mf_session_close(&s->work.session);
    mf_comm_release(&s->comm);
    mf_options_free(s->options);
    for (mesoforge_field *f = s->fields, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(s);
}

static void enlist(mesoforge_session *s)
{
    lock_list();
    s->next = all.open;
    all.open = s;
    pthread_mutex_unlock(&all.list);
}

static int open_any(mesoforge_session **session, const void *comm, const char *options)
{
    mesoforge_session *s;
    int rc;

    if (!session) return mf_lib_told(mf_fail(MF_USAGE, "there is no place for the session"));
    *session = NULL;
    mf_guest_begin();
    if (is_inside) return mf_lib_told(mf_fail(MF_USAGE, "a callback cannot call the library"));
    s = calloc(1, sizeof *s);
    if (!s) return mf_lib_told(mf_fail(MF_MEMORY, "no memory for a session"));
    s->process = getpid();
    enlist(s);
    s->busy = 1;
    put_on(s);
    rc = open_here(s, comm, options);
    mf_lib_leave(s, rc);
    if (rc == MF_OK)
        *session = s;
    else
        (void)mesoforge_close(s);
    return rc;
}

int mesoforge_open(mesoforge_session **session, const char *options) { return open_any(session, NULL, options); }

int mesoforge_open_ranks(mesoforge_session **session, const void *comm, const char *options)
{
    if (!comm) return mf_lib_told(mf_fail(MF_USAGE, "there is no communicator"));
    return open_any(session, comm, options);
}

int mesoforge_on_log(mesoforge_session *session, void (*take)(void *context, int level, const char *line),
                     void *context)
{
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    session->take_line = take;
    session->line_context = context;
    return mf_lib_leave(session, MF_OK);
}

int mesoforge_on_progress(mesoforge_session *session, int (*go_on)(void *context, const char *what, double share),
                          void *context)
{
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    session->go_on = go_on;
    session->step_context = context;
    return mf_lib_leave(session, MF_OK);
}

int mesoforge_cancel(mesoforge_session *session)
{
    int rc = MF_OK;

    lock_list();
    if (!session || !is_open(session))
        rc = mf_fail(MF_USAGE, "this is no open session");
    else if (session->busy)
        atomic_store(&session->stop, 1);
    pthread_mutex_unlock(&all.list);
    return mf_lib_told(rc);
}

/* Does the last session end? Its threads end with it. */
static int delist(const mesoforge_session *s)
{
    mesoforge_session **at = &all.open;
    int is_last;

    lock_list();
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    is_last = !all.open;
    pthread_mutex_unlock(&all.list);
    return is_last;
}

int mesoforge_close(mesoforge_session *session)
{
    int rc = session ? mf_lib_enter(session) : MF_OK, is_last;
    mesoforge_session before;

    if (rc != MF_OK) return mf_lib_told(rc);
    if (!session) return MF_OK;
    if (session->work.session.comm && mf_comm_goes_on(&session->comm)) rc = mf_lib_meet(session, "close");
    if (rc == MF_USAGE || rc == MF_STOPPED) return mf_lib_leave(session, rc);
    is_last = delist(session);
    before = *session;
    end(session);
    put_off(&before);
    if (is_last) mf_threads_end();
    return MF_OK;
}

int mf_lib_meet(const mesoforge_session *session, const char *call)
{
    return mf_comm_meet_call(&session->comm, call, session->patience);
}

int mf_lib_has(const mesoforge_session *session, const mesoforge_field *field)
{
    const mesoforge_field *at = session->fields;

    while (at && at != field) at = at->next;
    return at != NULL;
}
