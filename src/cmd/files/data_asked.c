/* See data_asked.h. */
#include "src/cmd/files/data_asked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/same_file.h"
#include "src/base/err.h"
#include "src/cmd/files/questions_tell.h"

int mf_data_asked_check(const struct data_import *o)
{
    const char *alone = o->scenes           ? "scenes"
                        : o->question_types ? "question-types"
                        : o->vocabulary     ? "vocabulary"
                                            : NULL;

    if (!o->questions && alone) return mf_fail(MF_USAGE, "--%s is about questions, and there is no --questions", alone);
    if (o->questions && o->tile.count)
        return mf_fail(MF_USAGE, "--questions are about whole images, and --tile cuts these; leave one of them out");
    return MF_OK;
}

static int is_folder(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

static int open_files(const struct data_import *o, const struct mf_source_wish *wish, struct mf_data_asked *a)
{
    const struct mf_vqa_import_wish files = {o->questions, o->scenes, o->question_types, o->vocabulary};

    MF_TRY(mf_vqa_import_open(&files, &a->import));
    return !wish->table && is_folder(wish->path) ? mf_vqa_import_files(a->import, wish->path, &a->files, &a->file)
                                                 : MF_OK;
}

int mf_data_asked_begin(struct mf_session *session, const struct data_import *o, struct mf_source_wish *wish,
                        struct mf_data_asked *a)
{
    const char *const file[] = {o->questions, o->scenes, o->question_types, o->vocabulary};

    *a = (struct mf_data_asked){.session = session};
    mf_comm_self(&a->self);
    if (!o->questions) return MF_OK;
    for (size_t k = 0; k < sizeof file / sizeof *file; ++k)
        if (file[k]) MF_TRY(mf_same_file(session->comm, file[k]));
    MF_TRY(mf_agree(session->comm, open_files(o, wish, a)));
    a->from = wish->table ? wish->table : wish->path;
    wish->files = a->files;
    wish->file = (const char *const *)a->file;
    return MF_OK;
}

void mf_data_asked_end(struct mf_data_asked *a)
{
    mf_vqa_import_close(a->import);
    for (size_t i = 0; i < a->files; ++i) free(a->file[i]);
    free(a->file);
    *a = (struct mf_data_asked){0};
}

int mf_data_asked_place(struct mf_data_asked *a, struct mf_source *source, struct mf_dataset_wish *wish)
{
    const struct mf_vqa_samples samples = {.from = a->from,
                                           .count = wish->samples,
                                           .file = mf_source_names(source),
                                           .ny = wish->dims[1],
                                           .nx = wish->dims[2],
                                           .find_objects = wish->phases == 2,
                                           .split = wish->split,
                                           .label = mf_source_classes(source),
                                           .classes = wish->classes,
                                           .part = {wish->part[0], wish->part[1]},
                                           .seed = wish->split_seed};

    a->source = source;
    if (!a->import) return MF_OK;
    if (wish->ndim != 2) return mf_fail(MF_INPUT, "'%.200s' holds volumes, and --questions are about images", a->from);
    MF_TRY(mf_vqa_import_place(a->import, &samples));
    wish->split = a->import->split;
    wish->questions = &a->import->wish;
    a->measures = samples.find_objects;
    return MF_OK;
}

int mf_data_asked_sample(void *asked, size_t id, struct mf_sample *sample)
{
    struct mf_data_asked *a = asked;
    const struct mf_measure_job job = {
        .comm = &a->self, .queue = a->session->home, .arena = a->session->arena, .lag = 1};

    MF_TRY(mf_source_sample(a->source, id, sample));
    return a->measures ? mf_vqa_import_measure(a->import, &job, id, sample->x) : MF_OK;
}

void mf_data_asked_tell(const struct mf_data_asked *a, size_t samples, struct mf_json *json)
{
    const struct mf_dataset set = {.samples = samples, .split = a->import->split};

    mf_questions_tell(&set, a->import->all, json);
}
