/* Metrics as event files of TensorBoard. A file is a sequence of records (the framing of TFRecord). A record is an
 * Event in the wire format of protocol buffers. See metrics.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/run/metrics_priv.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "event files are little-endian");

/* Numbers of the fields, as TensorFlow's event.proto and summary.proto have them. */
enum {
    WALL_TIME = 1,
    STEP = 2,
    FILE_VERSION = 3,
    SUMMARY = 5,
    SESSION_LOG = 7,
    SESSION_STATUS = 1,
    SESSION_START = 1,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2
};

/* How a field is written. */
enum { AS_VARINT = 0, AS_8_BYTES = 1, AS_BYTES = 2, AS_4_BYTES = 5 };

enum { TRIES = 100, HOST = 64 };

/* A memory stream takes all; a file's error is found when it is flushed. */
static void put_raw(FILE *to, const void *bytes, size_t n) { (void)fwrite(bytes, 1, n, to); }

/* ---- protocol buffers ---- */

/* A message under construction. */
struct message {
    FILE *to;
    char *bytes;
    size_t size;
};

static void message_begin(struct message *m)
{
    *m = (struct message){.bytes = NULL};
    m->to = MF_MUST(open_memstream(&m->bytes, &m->size), "an event");
}

static void message_end(struct message *m)
{
    if (fclose(m->to) != 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for an event");
}

static void put_varint(FILE *to, uint64_t n)
{
    for (; n > 127; n >>= 7) fputc((int)(n & 127) | 128, to);
    fputc((int)n, to);
}

static void put_field(FILE *to, unsigned field, unsigned as) { put_varint(to, field << 3 | as); }

static void put_bytes(FILE *to, unsigned field, const void *bytes, size_t n)
{
    put_field(to, field, AS_BYTES);
    put_varint(to, n);
    put_raw(to, bytes, n);
}

/* The message as a field of another one; frees it. */
static void put_message(FILE *to, unsigned field, struct message *m)
{
    message_end(m);
    put_bytes(to, field, m->bytes, m->size);
    free(m->bytes);
}

/* ---- records ---- */

static void put_crc(FILE *to, const void *bytes, size_t n)
{
    const uint32_t crc = mf_crc32c(0, bytes, n), masked = (crc >> 15 | crc << 17) + 0xa282ead8U;

    put_raw(to, &masked, sizeof masked);
}

static void put_record(FILE *to, const void *bytes, uint64_t n)
{
    put_raw(to, &n, sizeof n);
    put_crc(to, &n, sizeof n);
    put_raw(to, bytes, n);
    put_crc(to, bytes, n);
}

/* An event of now, whose last field is @p bytes. */
static void put_event(struct mf_metrics_file *file, uint64_t step, unsigned field, const void *bytes, size_t n)
{
    struct timespec now;
    struct message event;
    double seconds;

    clock_gettime(CLOCK_REALTIME, &now);
    seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    message_begin(&event);
    put_field(event.to, WALL_TIME, AS_8_BYTES);
    put_raw(event.to, &seconds, sizeof seconds);
    put_field(event.to, STEP, AS_VARINT);
    put_varint(event.to, step);
    put_bytes(event.to, field, bytes, n);
    message_end(&event);
    put_record(file->to, event.bytes, event.size);
    free(event.bytes);
    mf_metrics_flush(file);
}

/* ---- the form ---- */

/* Makes a new file. N counts the files of one second, as TensorBoard reads files in the order of their names. */
static int create(const char *lines, char **path)
{
    const int folder = (int)(mf_name_base(lines) - lines);
    const long long now = (long long)time(NULL);
    char host[HOST] = "localhost";
    int file = -1;

    if (gethostname(host, sizeof host - 1) != 0) snprintf(host, sizeof host, "localhost");
    for (int n = 0; file < 0 && n < TRIES; ++n) {
        free(*path);
        *path = mf_format("%.*sevents.out.tfevents.%010lld.%s.%ld.%d", folder, lines, now, host, (long)getpid(), n);
        file = mf_open(*path, O_WRONLY | O_CREAT | O_EXCL);
        if (file < 0 && errno != EEXIST) break;
    }
    return file;
}

void mf_events_open(struct mf_metrics *m)
{
    static const char version[] = "brain.Event:2";
    const int file = create(m->path, &m->events.path);

    m->events.to = file >= 0 ? fdopen(file, "w") : NULL;
    if (m->events.to)
        put_event(&m->events, 0, FILE_VERSION, version, sizeof version - 1);
    else
        mf_warn("cannot write '%s': %s; the run continues without it", m->events.path, strerror(errno));
}

/* A session that starts at a step makes TensorBoard forget what earlier files have from this step on. */
void mf_events_cut(struct mf_metrics *m, long step)
{
    static const unsigned char start[] = {SESSION_STATUS << 3 | AS_VARINT, SESSION_START};

    if (m->events.to && step >= 0) put_event(&m->events, (uint64_t)step + 1, SESSION_LOG, start, sizeof start);
}

static void put_value(FILE *summary, const char *kind, const struct mf_metric *value)
{
    const float number = value->kind == MF_METRIC_INT ? (float)value->whole : (float)value->real;
    char *tag = mf_format("%s%s%s", kind, *kind ? "/" : "", value->key);
    struct message m;

    message_begin(&m);
    put_bytes(m.to, VALUE_TAG, tag, strlen(tag));
    put_field(m.to, VALUE_SIMPLE, AS_4_BYTES);
    put_raw(m.to, &number, sizeof number);
    put_message(summary, SUMMARY_VALUE, &m);
    free(tag);
}

void mf_events_row(struct mf_metrics *m, size_t count, const struct mf_metric *values)
{
    const char *kind = mf_metrics_kind(count, values);
    struct message summary;
    uint64_t step = 0;

    if (!m->events.to) return;
    message_begin(&summary);
    for (size_t i = 0; i < count; ++i)
        if (strcmp(values[i].key, "step") == 0)
            step = values[i].whole;
        else if (mf_metrics_has_number(&values[i]))
            put_value(summary.to, kind, &values[i]);
    message_end(&summary);
    put_event(&m->events, step, SUMMARY, summary.bytes, summary.size);
    free(summary.bytes);
}
