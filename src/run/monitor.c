/* See monitor.h. */
#include "src/run/monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/plan/gauge.h"

enum { LOOKS = 20, RISES = 5, MOST = 64, TEXT = 120 };

static const double GIB = 1 << 30;

struct mf_monitor {
    struct mf_gauge *gauge;
    size_t gpus;
    double every, next; /* seconds between looks; time of the next */
    double spent;       /* seconds in looks */
    size_t looks;       /* made */
    size_t known;       /* bytes that the run has taken, at the last one */
    struct mf_growth host, gpu[MOST];
    char text[TEXT];
};

int mf_growth_look(struct mf_growth *g, double bytes)
{
    if (isnan(bytes) || g->said) return 0;
    if (g->looks == 0 || bytes < g->last) *g = (struct mf_growth){.first = bytes, .last = bytes};
    g->rises += bytes > g->last;
    if (bytes > g->last) g->quarters |= 1U << (4 * g->looks / LOOKS);
    g->last = bytes;
    if (++g->looks < LOOKS) return 0;
    g->said = g->rises >= RISES && g->quarters == 15 && g->last >= 1.01 * g->first;
    if (!g->said) g->looks = 0; /* counts anew */
    return g->said;
}

struct mf_monitor *mf_monitor_open(double seconds)
{
    struct mf_monitor *m = MF_MUST(calloc(1, sizeof *m), "a monitor");

    m->every = seconds;
    m->gauge = mf_gauge_open();
    m->gpus = mf_gauge_gpus(m->gauge) < MOST ? mf_gauge_gpus(m->gauge) : MOST;
    if (m->gpus > 0)
        mf_info("--monitor-gpu: %zu GPU%s of this node, every %g s", m->gpus, MF_S(m->gpus), seconds);
    else
        mf_info("--monitor-gpu: figures of the host alone, every %g s: %s", seconds, mf_gauge_remark(m->gauge));
    return m;
}

void mf_monitor_close(struct mf_monitor *m)
{
    if (!m) return;
    if (m->looks > 0) mf_debug("--monitor-gpu: %zu looks of %.3g ms each", m->looks, 1e3 * m->spent / (double)m->looks);
    mf_gauge_close(m->gauge);
    free(m);
}

static struct mf_metric real(const char *key, double value)
{
    return (struct mf_metric){.key = key, .kind = MF_METRIC_REAL, .real = value};
}

static struct mf_metric word(const char *key, const char *text)
{
    return (struct mf_metric){.key = key, .kind = MF_METRIC_TEXT, .text = text};
}

static struct mf_metric whole(const char *key, size_t value)
{
    return (struct mf_metric){.key = key, .kind = MF_METRIC_INT, .whole = value};
}

static void warn(const char *what, const struct mf_growth *g)
{
    mf_warn("the memory of %s has grown from %.3f to %.3f GiB in %d looks and never fell: it may leak", what,
            g->first / GIB, g->last / GIB, LOOKS);
}

static void look_at_host(struct mf_monitor *m, struct mf_metrics *metrics, size_t step)
{
    const double resident = mf_gauge_resident(), load = mf_gauge_load();
    const struct mf_metric row[] = {word("kind", "host"), whole("step", step), real("resident", resident),
                                    real("load", load)};

    mf_metrics_row(metrics, sizeof row / sizeof *row, row);
    if (mf_growth_look(&m->host, resident)) warn("this process", &m->host);
    if (m->gpus == 0) snprintf(m->text, TEXT, ", %.2f GiB resident, load %.1f", resident / GIB, load);
}

static struct mf_gauge_gpu look_at_gpu(struct mf_monitor *m, size_t i, struct mf_metrics *metrics, size_t step)
{
    const struct mf_gauge_gpu gpu = mf_gauge_look(m->gauge, i);
    char kind[32], name[32];
    const struct mf_metric row[] = {word("kind", kind),
                                    whole("step", step),
                                    real("use", gpu.use),
                                    real("memory", gpu.memory),
                                    real("temperature", gpu.celsius),
                                    real("power", gpu.watts)};

    snprintf(kind, sizeof kind, "gpu%zu", i);
    snprintf(name, sizeof name, "GPU %zu", i);
    mf_metrics_row(metrics, sizeof row / sizeof *row, row);
    if (mf_growth_look(&m->gpu[i], gpu.memory)) warn(name, &m->gpu[i]);
    return gpu;
}

static void add(char text[TEXT], const char *before, int decimals, double value, const char *unit)
{
    const size_t used = strlen(text);

    if (!isnan(value)) snprintf(text + used, TEXT - used, "%s %.*f %s", before, decimals, value, unit);
}

/* Values that are not known are left out of it. */
static void look_at_gpus(struct mf_monitor *m, struct mf_metrics *metrics, size_t step)
{
    struct mf_gauge_gpu all = {.use = 0, .memory = NAN, .celsius = NAN, .watts = 0}; /* fmax() passes over NaN */

    for (size_t i = 0; i < m->gpus; ++i) {
        const struct mf_gauge_gpu gpu = look_at_gpu(m, i, metrics, step);

        all.use += gpu.use / (double)m->gpus;
        all.memory = fmax(all.memory, gpu.memory);
        all.celsius = fmax(all.celsius, gpu.celsius);
        all.watts += gpu.watts;
    }
    if (m->gpus == 0) return;
    snprintf(m->text, TEXT, ", GPU%s", MF_S(m->gpus));
    add(m->text, "", 0, all.use, "%");
    add(m->text, ",", 2, all.memory / GIB, "GiB");
    add(m->text, ",", 0, all.celsius, "C");
    add(m->text, ",", 0, all.watts, "W");
}

/* Memory that a run has taken explains a growth. */
static void heed_known(struct mf_monitor *m, size_t known)
{
    if (known == m->known) return;
    m->known = known;
    m->host.looks = 0;
    for (size_t i = 0; i < m->gpus; ++i) m->gpu[i].looks = 0;
}

void mf_monitor_step(struct mf_monitor *m, struct mf_metrics *metrics, size_t step, size_t known)
{
    const double now = mf_now();

    if (!m || now < m->next) return;
    heed_known(m, known);
    look_at_host(m, metrics, step);
    look_at_gpus(m, metrics, step);
    m->next = now + m->every;
    m->spent += mf_now() - now;
    ++m->looks;
}

const char *mf_monitor_text(const struct mf_monitor *m) { return m ? m->text : ""; }
