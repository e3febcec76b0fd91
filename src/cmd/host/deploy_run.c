/* See deploy.h: starting a container, waiting until it works, and stopping it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/host/deploy.h"

enum { TAIL = 4000 /* bytes of a log that are shown */, LOG_MOST = 64 << 20, ASK_SECONDS = 2 };

/* -- the port -- */

static struct sockaddr_in address_of(const char *host, long port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    (void)inet_pton(AF_INET, host, &at.sin_addr);
    return at;
}

/* Another program may take it until the container starts: then its runtime says so. */
static int try_port(const struct mf_server *s)
{
    const struct sockaddr_in at = address_of(s->host, s->port);
    const int one = 1, socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int why = 0;

    if (socket_ < 0) return mf_fail(MF_DEVICE, "there is no socket: %s", strerror(errno));
    (void)setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(socket_, (const struct sockaddr *)&at, sizeof at) != 0) why = errno;
    close(socket_);
    if (why == 0 || (why == EACCES && s->box == MF_BOX_DOCKER)) return MF_OK; /* its daemon may take any */
    return mf_fail(MF_DEVICE, "port %ld of %s cannot be taken: %s; try: --port %ld", s->port, s->host, strerror(why),
                   s->port < 65535 ? s->port + 1 : 8080);
}

/* -- health -- */

/* The status of an answer to GET; 0: there was none. */
static int ask(const struct mf_server *s)
{
    const struct sockaddr_in at = address_of(strcmp(s->host, "0.0.0.0") == 0 ? "127.0.0.1" : s->host, s->port);
    const struct timeval most = {.tv_sec = ASK_SECONDS};
    const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[256];
    int status = 0, n = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", s->kind->health, s->host);

    if (to < 0) return 0;
    (void)setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setsockopt(to, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    if (connect(to, (const struct sockaddr *)&at, sizeof at) == 0 && send(to, text, (size_t)n, MSG_NOSIGNAL) == n) {
        const ssize_t got = recv(to, text, sizeof text - 1, MSG_WAITALL);

        text[got > 0 ? got : 0] = '\0';
        if (strncmp(text, "HTTP/1.", 7) == 0) status = (int)strtol(text + strcspn(text, " "), NULL, 10);
    }
    close(to);
    return status;
}

/* -- the runtime -- */

/* The output of a command; NULL: it failed. The caller frees. */
static char *output_of(const struct mf_words *words, int with_errors)
{
    const struct mf_child child = {.words = words->at, .drops = mf_child_job, .seconds = 30, .quiet = !with_errors};
    char *text = NULL;

    if (mf_child_run(&child, &text) == 0) return text;
    free(text);
    return NULL;
}

/* Is the state of the container @p state? -1: its runtime does not answer. Apptainer knows those that run. */
static int is_in(const struct mf_server *s, const char *state)
{
    struct mf_words words = {0};
    char *text;
    int is = -1;

    (void)mf_server_act_words(s->box, MF_SERVER_STATE, s->name, &words);
    text = output_of(&words, 0);
    if (text && s->box == MF_BOX_APPTAINER)
        is = strcmp(state, "running") == 0 && strstr(text, s->name);
    else if (text)
        is = strncmp(text, state, strlen(state)) == 0;
    free(text);
    mf_words_free(&words);
    return is;
}

static int has_ended(const struct mf_server *s) { return is_in(s, "running") == 0 && is_in(s, "created") == 0; }

static void show_tail(const char *text)
{
    const size_t n = strlen(text);
    const char *at = n > TAIL ? strchr(text + n - TAIL, '\n') : NULL;

    fputs(at ? at + 1 : text, stderr);
    if (n > 0 && text[n - 1] != '\n') fputc('\n', stderr);
}

static void show_file(const char *path)
{
    char *text = NULL;
    size_t count;

    if (access(path, R_OK) == 0 && mf_text_load(path, LOG_MOST, &text, &count) == MF_OK) show_tail(text);
    mf_err_clear();
    free(text);
}

/* Apptainer tells the names of two files of an instance, while it runs. Behind that they are where it puts them. */
static void show_files(const struct mf_server *s, char *list)
{
    static const char *const endings[] = {"out", "err"};
    const char *home = getenv("HOME");
    const struct passwd *user = getpwuid(getuid());
    char host[256] = "";
    int told = 0;

    for (char *word = strtok(list, " \t\n"); word; word = strtok(NULL, " \t\n")) {
        if (*word != '/' || !(mf_ends_with(word, ".out") || mf_ends_with(word, ".err"))) continue;
        show_file(word);
        told = 1;
    }
    (void)gethostname(host, sizeof host - 1);
    for (size_t i = 0; i < 2 && !told && home && user; ++i) {
        char *path =
            mf_format("%s/.apptainer/instances/logs/%s/%s/%s.%s", home, host, user->pw_name, s->name, endings[i]);

        show_file(path);
        free(path);
    }
}

static void show_log(const struct mf_server *s)
{
    struct mf_words words = {0};
    char *text;

    (void)mf_server_act_words(s->box, MF_SERVER_LOG, s->name, &words);
    fprintf(stderr, "-- end of the log of '%s' --\n", s->name);
    text = output_of(&words, s->box != MF_BOX_APPTAINER); /* which prints its errors to ours */
    if (text && s->box == MF_BOX_APPTAINER)
        show_files(s, text);
    else if (text)
        show_tail(text);
    fputs("--\n", stderr);
    free(text);
    mf_words_free(&words);
}

/* A failed start tells how it is removed. */
static int refuse(const struct mf_server *s, const char *what)
{
    return mf_fail(MF_DEVICE, "'%s' %s; it is removed by: mesoforge deploy %s --stop %s", s->name, what,
                   mf_box_names[s->box], s->name);
}

static int wait_for(const struct mf_server *s, long seconds)
{
    const struct timespec moment = {0, 200000000};
    const double begin = mf_now();
    double looked = begin;
    char what[120];

    for (;;) {
        if (ask(s) == 200) return MF_OK;
        if (mf_child_heard()) return refuse(s, "goes on, and is no longer waited for");
        if (mf_now() - looked > 1) {
            if (has_ended(s)) break;
            looked = mf_now();
        }
        if (mf_now() - begin > (double)seconds) {
            show_log(s);
            snprintf(what, sizeof what, "was not healthy within %ld s (--wait), and goes on; its log is above",
                     seconds);
            return refuse(s, what);
        }
        nanosleep(&moment, NULL);
    }
    show_log(s);
    return refuse(s, "has ended; its log is above");
}

/* docker and podman leave a container that they could not start. */
static int refuse_start(const struct mf_server *s, int status)
{
    const char *box = mf_box_names[s->box];
    char advice[300] = "";

    if (is_in(s, "created") == 1)
        snprintf(advice, sizeof advice, "; it left a container, which is removed by: mesoforge deploy %s --stop %s",
                 box, s->name);
    else if (mf_server_is_local(s) && s->box != MF_BOX_APPTAINER)
        snprintf(advice, sizeof advice, "; its image is made by: %s %s", box, s->kind->make);
    return mf_fail(MF_DEVICE, "%s ends with status %d and starts no server; its reason is above%s", box, status,
                   advice);
}

static int start(const struct mf_server *s, const struct mf_words *words)
{
    const struct mf_child child = {.words = words->at, .drops = mf_child_job};
    char *id = NULL;
    const int status = mf_child_run(&child, &id), why = errno;

    free(id);
    if (status == 0) return MF_OK;
    if (status != -2) return refuse_start(s, status);
    mf_words_print(stdout, words, NULL);
    printf("\n");
    return mf_fail(MF_DEVICE, "'%s' cannot be started: %s; printed is the line that it would get", mf_box_names[s->box],
                   strerror(why));
}

int mf_deploy_start(const struct mf_server *s, const struct mf_words *words, const struct mf_deploy_opts *o,
                    unsigned makes)
{
    int rc = try_port(s);

    if (rc != MF_OK) return rc;
    mf_server_environment(s);
    mf_child_hold();
    rc = start(s, words);
    if (rc == MF_OK && o->wait > 0) rc = wait_for(s, o->wait);
    mf_child_let();
    return rc == MF_OK ? mf_deploy_tell(s, makes, o->common.json) : rc;
}

/* -- stopping -- */

static int act(const struct mf_words *words, const char *name)
{
    const struct mf_child child = {.words = words->at, .drops = mf_child_job};
    char *text = NULL;
    const int status = mf_child_run(&child, &text);

    free(text);
    if (status == 0) return MF_OK;
    if (status == -2) return mf_fail(MF_DEVICE, "'%s' cannot be started: %s", words->at[0], strerror(errno));
    return mf_fail(MF_DEVICE, "%s ends with status %d for '%s'; its reason is above", words->at[0], status, name);
}

int mf_deploy_stop(enum mf_box box, const char *name, int dry_run)
{
    static const enum mf_server_act acts[] = {MF_SERVER_STOP, MF_SERVER_REMOVE};
    int rc = MF_OK;

    mf_child_hold();
    for (size_t i = 0; i < sizeof acts / sizeof *acts && rc == MF_OK; ++i) {
        struct mf_words words = {0};

        if (mf_server_act_words(box, acts[i], name, &words) && dry_run) {
            mf_words_print(stdout, &words, NULL);
            printf("\n");
        } else if (words.count > 0) {
            rc = act(&words, name);
        }
        mf_words_free(&words);
    }
    mf_child_let();
    return rc;
}
