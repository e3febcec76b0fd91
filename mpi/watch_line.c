/* See watch.h: what the watch says. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "mpi/board.h"
#include "mpi/watch.h"

enum { NAMED_MOST = 8, SHORT = 2 /* seconds */ };

struct line {
    char *text;
    size_t room, used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *line, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line->text + line->used, line->room - line->used, format, args);
    va_end(args);
    if (n > 0) line->used += (size_t)n;
    if (line->used >= line->room) line->used = line->room - 1;
}

void mf_words_put(_Atomic uint64_t *words, size_t n, const char *text)
{
    const size_t length = strnlen(text, 8 * n - 1);

    for (size_t i = 0; i < n; ++i) {
        uint64_t word = 0;

        if (8 * i < length) memcpy(&word, text + 8 * i, length - 8 * i < 8 ? length - 8 * i : 8);
        atomic_store_explicit(&words[i], word, memory_order_relaxed);
    }
}

void mf_words_get(const _Atomic uint64_t *words, size_t n, char *text)
{
    for (size_t i = 0; i < n; ++i) {
        uint64_t word = atomic_load_explicit(&words[i], memory_order_relaxed);

        memcpy(text + 8 * i, &word, sizeof word);
    }
    text[8 * n - 1] = '\0';
}

/* "sum of 3 of expert group 1": where a rank is, or was last. */
static void add_collective(struct line *line, const struct mf_watch_view *v, int rank)
{
    const struct mf_doing *doing = &v->board->record[rank].doing;
    unsigned long long n = atomic_load_explicit(&doing->count, memory_order_relaxed);
    char name[MF_WATCH_TEXT], title[MF_GROUP_TEXT];

    mf_words_get(doing->name, MF_WATCH_WORDS, name);
    mf_words_get(doing->title, MF_GROUP_WORDS, title);
    add(line, "%s", *name ? name : "a collective");
    if (n) add(line, " %llu", n);
    if (*title) add(line, " of %s", title);
}

static void add_rank(struct line *line, const struct mf_watch_view *v, int rank)
{
    add(line, "rank %d on %s", rank, v->post[rank].host);
}

static int add_guilty(struct line *line, const struct mf_watch_view *v, const struct mf_verdict *verdict)
{
    int first = -1, named = 0;

    for (int r = 0; r < v->size && named < NAMED_MOST; ++r) {
        if (!v->seen[r].guilty) continue;
        if (named++) add(line, named == verdict->guilty ? " and " : ", ");
        add_rank(line, v, r);
        if (first < 0) first = r;
    }
    if (verdict->guilty > named) add(line, " and %d more", verdict->guilty - named);
    return first;
}

static const char *doing(char state)
{
    switch (state) {
    case 'R': return "computes";
    case 'S': return "sleeps";
    case 'D': return "waits for a device or a file system";
    default: return "runs";
    }
}

/* Adds the state of a rank's process. */
static void add_process(struct line *line, const struct mf_watch_view *v, int rank)
{
    const struct mf_seen *s = &v->seen[rank];
    int near = v->post[rank].head == v->post[v->rank].head;
    struct mf_process p = near ? mf_process_look(v->post[rank].process) : (struct mf_process){0, 0, 0};

    if (!near && !s->stopped && s->silent > SHORT) {
        add(line, "rank %d was not heard for %.0f s", rank, s->silent);
    } else {
        add(line, "the process of rank %d %s", rank, s->stopped ? "is stopped" : doing(p.state));
    }
}

static void say_dead(struct line *line, const struct mf_watch_view *v, const struct mf_verdict *verdict)
{
    int first = add_guilty(line, v, verdict);
    struct mf_process p = mf_process_look(v->post[first].process);

    add(line, verdict->guilty > 1 ? " are lost: their processes are gone" : " is lost: its process is gone");
    if (p.state == 'Z' && WIFSIGNALED(p.end))
        add(line, " (signal %d, %s)", WTERMSIG(p.end), strsignal(WTERMSIG(p.end)));
    add(line, v->seen[first].place % 2 ? "; it was in " : "; it was last in ");
    add_collective(line, v, first);
    if (verdict->waiter < 0) return;
    add(line, ", ");
    add_rank(line, v, verdict->waiter);
    add(line, " is in ");
    add_collective(line, v, verdict->waiter);
}

/* Adds the ranks that the waiter's collective lacks. */
static void add_missed(struct line *line, const struct mf_watch_view *v, const struct mf_verdict *verdict)
{
    add(line, verdict->guilty > 1 ? " have not come to " : " has not come to ");
    add_collective(line, v, verdict->waiter);
    add(line, ", where ");
    add_rank(line, v, verdict->waiter);
    add(line, " has waited for %.0f s: ", v->seen[verdict->waiter].quiet);
}

/* Adds the message that the peer has not sent or received. */
static void add_message(struct line *line, const struct mf_watch_view *v, int waiter)
{
    add(line, v->seen[waiter].peer < 0 ? " has not sent to " : " has not received from ");
    add_rank(line, v, waiter);
    add(line, ", which has waited for %.0f s in ", v->seen[waiter].quiet);
    add_collective(line, v, waiter);
    add(line, ": ");
}

static void say_missing(struct line *line, const struct mf_watch_view *v, const struct mf_verdict *verdict)
{
    int first = add_guilty(line, v, verdict);

    if (v->seen[verdict->waiter].peer)
        add_message(line, v, verdict->waiter);
    else
        add_missed(line, v, verdict);
    add_process(line, v, first);
    if (v->seen[first].place == 0) return;
    add(line, v->seen[first].place % 2 ? ", is in " : ", was last in ");
    add_collective(line, v, first);
}

static void say_unheard(struct line *line, const struct mf_watch_view *v, const struct mf_verdict *verdict)
{
    int first;

    add(line, "nothing was heard from ");
    first = add_guilty(line, v, verdict);
    add(line, " for %.0f s, and ", v->seen[first].silent);
    add_rank(line, v, verdict->waiter);
    add(line, " has waited in ");
    add_collective(line, v, verdict->waiter);
    add(line, " for %.0f s: a host or the network between hosts is lost", v->seen[verdict->waiter].quiet);
}

/* A rank in the group's collective with the waiter's number but another name; -1: none. */
static int elsewhere(const struct mf_watch_view *v, int waiter)
{
    const struct mf_seen *w = &v->seen[waiter];
    char here[MF_WATCH_TEXT], there[MF_WATCH_TEXT];

    mf_words_get(v->board->record[waiter].doing.name, MF_WATCH_WORDS, here);
    for (int r = 0; r < v->size && !w->peer; ++r) {
        const struct mf_seen *s = &v->seen[r];

        mf_words_get(v->board->record[r].doing.name, MF_WATCH_WORDS, there);
        if (!s->unknown && mf_seen_inside(s) && !s->peer && s->group == w->group && strcmp(here, there) != 0 &&
            mf_seen_count(s, w->group) == mf_seen_count(w, w->group))
            return r;
    }
    return -1;
}

static void say_inside(struct line *line, const struct mf_watch_view *v, const struct mf_verdict *verdict)
{
    double quiet = v->seen[verdict->waiter].quiet;
    int other = verdict->other >= 0 ? verdict->other : elsewhere(v, verdict->waiter), first;

    if (verdict->guilty) {
        first = add_guilty(line, v, verdict);
        add(line, verdict->guilty > 1 ? " have" : " has");
        add(line, " not come out of ");
        add_collective(line, v, first);
        add(line, " for %.0f s: ", quiet);
        add_process(line, v, first);
    } else if (other >= 0) {
        add(line, "rank %d is in ", other);
        add_collective(line, v, other);
        add(line, " and rank %d in ", verdict->waiter);
        add_collective(line, v, verdict->waiter);
        add(line, " for %.0f s: they wait for each other", quiet);
    } else {
        add(line, "no rank has come out of ");
        add_collective(line, v, verdict->waiter);
        add(line, " for %.0f s: a link between ranks or a file system does not answer", quiet);
    }
}

void mf_watch_line(const struct mf_watch_view *view, const struct mf_verdict *verdict, char *text, size_t room)
{
    struct line line = {text, room, 0};

    *text = '\0';
    switch (verdict->kind) {
    case MF_DEAD: say_dead(&line, view, verdict); break;
    case MF_MISSING: say_missing(&line, view, verdict); break;
    case MF_UNHEARD: say_unheard(&line, view, verdict); break;
    default: say_inside(&line, view, verdict); break;
    }
    if (verdict->kind != MF_DEAD) add(&line, "; --timeout %g", view->seconds);
}
