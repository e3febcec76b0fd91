/* Objects and findings of an import. See import.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/vqa/import_priv.h"
#include "src/vqa/vqa.h"

/* Both files may say what is in images. */
enum { FILES = 2 };

static const struct mf_question_rows *file_of(const struct mf_placing *p, int k)
{
    return k ? p->import->seen : p->import->asked;
}

/* ---- findings ---- */

static size_t finding_of(const struct mf_questions_form *f, const char *name)
{
    size_t k = 0;

    while (k < f->findings && strcmp(f->finding[k], name) != 0) ++k;
    return k;
}

static int add_finding(struct mf_questions_form *f, const char *name, double threshold)
{
    if (finding_of(f, name) < f->findings) return MF_OK;
    if (strlen(name) >= sizeof *f->finding)
        return mf_fail(MF_INPUT, "the finding '%.80s' has a name of more than %d bytes", name, MF_REAL_TEXT - 1);
    if (f->findings == MF_QUESTION_FINDINGS)
        return mf_fail(MF_INPUT, "there are more than %d findings; '%.60s' is one too many", MF_QUESTION_FINDINGS,
                       name);
    f->threshold[f->findings] = threshold;
    snprintf(f->finding[f->findings++], sizeof *f->finding, "%s", name);
    return MF_OK;
}

struct adding {
    struct mf_questions_form *form;
    int rc;
};

static void add_listed(void *context, const char *key, const struct mf_json *value)
{
    struct adding *a = context;

    if (a->rc == MF_OK) a->rc = add_finding(a->form, key, strtod(mf_json_to_text(value), NULL));
}

int mf_placing_findings(struct mf_placing *p)
{
    struct adding a = {p->form, MF_OK};
    int boxes = p->samples->find_objects, found = 0;

    for (int k = 0; k < FILES; ++k)
        for (size_t i = 0; file_of(p, k) && i < file_of(p, k)->scenes; ++i) {
            found |= file_of(p, k)->scene[i].findings > 0;
            boxes |= file_of(p, k)->scene[i].has_boxes;
        }
    p->form->objects = boxes ? MF_VQA_OBJECTS : 0;
    if (!found) return MF_OK;
    mf_json_each(mf_json_get(p->import->types.value, "findings"), add_listed, &a);
    MF_TRY(a.rc);
    for (int k = 0; k < FILES; ++k)
        for (size_t i = 0; file_of(p, k) && i < file_of(p, k)->scenes; ++i)
            for (size_t j = 0; j < file_of(p, k)->scene[i].findings; ++j)
                MF_TRY(add_finding(p->form, file_of(p, k)->scene[i].finding[j].name, 0));
    return MF_OK;
}

static int put_findings(struct mf_placing *p, const struct mf_question_rows *rows, const struct mf_scene *scene,
                        uint8_t *finding, uint8_t *done)
{
    if (!scene->findings) return MF_OK;
    if (*done)
        return mf_placing_fail(rows, scene->line, "has findings of '%.200s' again",
                               *scene->image ? scene->image : scene->study);
    *done = 1;
    for (size_t j = 0; j < scene->findings; ++j)
        finding[finding_of(p->form, scene->finding[j].name)] = scene->finding[j].value;
    return MF_OK;
}

/* ---- objects ---- */

static int check_box(const struct mf_placing *p, const struct mf_question_rows *rows, const struct mf_scene *scene,
                     const struct mf_scene_box *box)
{
    const double *at = box->at, nx = (double)p->samples->nx, ny = (double)p->samples->ny;
    const int turned = !(at[0] < at[2] && at[1] < at[3]);
    const int outside = !(at[0] >= 0 && at[1] >= 0 && at[2] <= nx && at[3] <= ny);

    if (turned)
        return mf_placing_fail(rows, scene->line,
                               "has the box [%g, %g, %g, %g] of '%.100s', which is empty or turned round: [x0, y0, x1, "
                               "y1] needs x0 < x1 and y0 < y1",
                               at[0], at[1], at[2], at[3], scene->image);
    if (outside)
        return mf_placing_fail(rows, scene->line,
                               "has the box [%g, %g, %g, %g] of '%.100s', which leaves the image of %g x %g pixels",
                               at[0], at[1], at[2], at[3], scene->image, nx, ny);
    if (box->area <= nx * ny) return MF_OK;
    return mf_placing_fail(rows, scene->line, "has an object of %g pixels in '%.100s', an image of %g x %g pixels",
                           box->area, scene->image, nx, ny);
}

static double area_of(const struct mf_scene_box *b)
{
    return b->area > 0 ? b->area : (b->at[2] - b->at[0]) * (b->at[3] - b->at[1]);
}

/* The largest first; of equal ones, as the file has them. */
static int by_area(const void *a, const void *b)
{
    const struct mf_scene_box *x = *(const struct mf_scene_box *const *)a, *y = *(const struct mf_scene_box *const *)b;
    const double one = area_of(x), other = area_of(y);

    return one == other ? (x > y) - (x < y) : (one < other) - (one > other);
}

static void put_object(const struct mf_placing *p, const struct mf_scene_box *b, float *value)
{
    const double nx = (double)p->samples->nx, ny = (double)p->samples->ny;
    const double all[MF_OBJECT_VALUES] = {b->at[1] / ny, b->at[0] / nx,          b->at[3] / ny,
                                          b->at[2] / nx, area_of(b) / (ny * nx), b->phase};

    for (int k = 0; k < MF_OBJECT_VALUES; ++k) value[k] = (float)all[k];
}

static int put_objects(struct mf_placing *p, const struct mf_question_rows *rows, const struct mf_scene *scene,
                       float *value, uint8_t *done)
{
    const struct mf_scene_box **box;

    if (!scene->has_boxes) return MF_OK;
    if (*done) return mf_placing_fail(rows, scene->line, "has objects of '%.200s' again", scene->image);
    *done = 1;
    for (size_t i = 0; i < scene->boxes; ++i) MF_TRY(check_box(p, rows, scene, &scene->box[i]));
    MF_TRY(MF_ROOM(box, scene->boxes + 1, "the boxes of an image"));
    for (size_t i = 0; i < scene->boxes; ++i) box[i] = &scene->box[i];
    qsort(box, scene->boxes, sizeof *box, by_area);
    for (size_t i = 0; i < scene->boxes && i < p->form->objects; ++i)
        put_object(p, box[i], value + i * MF_OBJECT_VALUES);
    free(box);
    return MF_OK;
}

/* ---- studies ---- */

/* Samples of each study, by the questions that name both. */
struct studies {
    struct mf_numbered first; /* a sample of the study */
    size_t *next;             /* [samples] another one; SIZE_MAX: there is none */
    const char **of;          /* [samples] its study; NULL: none */
};

/* Some write s50414267, and others 50414267. */
static const char *number_of(const char *study)
{
    const int lettered = isalpha((unsigned char)*study) && study[1] && !study[1 + strspn(study + 1, "0123456789")];

    return study + lettered;
}

static int add_study(const struct mf_placing *p, size_t r, struct studies *s)
{
    const struct mf_question_row *row = &p->import->asked->row[r];
    const char *study = number_of(row->study);
    const size_t i = p->sample[r];
    size_t first;

    if (!*study) return MF_OK;
    if (s->of[i] && strcmp(s->of[i], study) != 0)
        return mf_placing_fail(p->import->asked, row->line,
                               "puts '%.200s' into the study '%.60s', and it is in '%.60s'", row->image, study,
                               s->of[i]);
    if (s->of[i]) return MF_OK;
    s->of[i] = study;
    MF_TRY(mf_numbered_put(&s->first, study, i, &first));
    s->next[i] = first == i ? SIZE_MAX : first;
    *mf_numbered_find(&s->first, study) = i;
    return MF_OK;
}

/* ---- all of it ---- */

struct counts {
    size_t strangers, crowded; /* images and studies that are no samples; images with more objects than a sample */
    uint8_t *found;            /* [samples] 1: the sample has its findings */
    struct studies studies;
};

/* Findings of all images of a study. */
static int put_study(struct mf_placing *p, const struct mf_question_rows *rows, const struct mf_scene *scene,
                     struct counts *n)
{
    struct mf_questions *all = p->import->all;
    const size_t *first = mf_numbered_find(&n->studies.first, number_of(scene->study));

    n->strangers += !first;
    for (size_t i = first ? *first : SIZE_MAX; i != SIZE_MAX; i = n->studies.next[i])
        MF_TRY(put_findings(p, rows, scene, all->finding + i * all->form.findings, &n->found[i]));
    return MF_OK;
}

static int put_scene(struct mf_placing *p, const struct mf_question_rows *rows, const struct mf_scene *scene,
                     struct counts *n)
{
    struct mf_questions *all = p->import->all;
    const size_t i = mf_placing_sample(p, scene->image), f = all->form.findings;

    if (!*scene->image) return put_study(p, rows, scene, n);
    if (i >= p->samples->count) {
        ++n->strangers;
        return MF_OK;
    }
    n->crowded += scene->boxes > all->form.objects;
    MF_TRY(put_findings(p, rows, scene, all->finding + i * f, &n->found[i]));
    return put_objects(p, rows, scene, all->object + i * all->form.objects * MF_OBJECT_VALUES, &p->import->boxed[i]);
}

static int put_file(struct mf_placing *p, const struct mf_question_rows *rows, struct counts *n)
{
    n->strangers = n->crowded = 0;
    for (size_t i = 0; i < rows->scenes; ++i) MF_TRY(put_scene(p, rows, &rows->scene[i], n));
    if (n->strangers)
        mf_info("'%.200s': %zu %s%s about no sample, and left out", rows->path, n->strangers, rows->unit,
                n->strangers == 1 ? " is" : "s are");
    if (n->crowded)
        mf_info("'%.200s': %zu image%s more than %d objects; the largest count", rows->path, n->crowded,
                n->crowded == 1 ? " has" : "s have", MF_VQA_OBJECTS);
    return MF_OK;
}

int mf_placing_scenes(struct mf_placing *p)
{
    const size_t samples = p->samples->count;
    struct counts n = {0};
    int rc;

    rc = MF_ROOM(n.found, samples + 1, "the findings of %zu samples", samples);
    if (rc == MF_OK) rc = MF_ROOM(n.studies.next, samples + 1, "the studies of %zu samples", samples);
    if (rc == MF_OK) rc = MF_ROOM(n.studies.of, samples + 1, "the studies of %zu samples", samples);
    for (size_t r = 0; rc == MF_OK && r < p->import->asked->count; ++r) rc = add_study(p, r, &n.studies);
    memset(p->import->all->finding, MF_FINDING_NONE, samples * p->form->findings);
    for (int k = 0; rc == MF_OK && k < FILES; ++k)
        if (file_of(p, k)) rc = put_file(p, file_of(p, k), &n);
    mf_numbered_free(&n.studies.first);
    free(n.studies.next);
    free(n.studies.of);
    free(n.found);
    return rc;
}
