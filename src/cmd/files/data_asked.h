/* data import --questions: questions about the samples, of other programs (src/vqa/import.h). */
#ifndef MF_CMD_FILES_DATA_ASKED_H
#define MF_CMD_FILES_DATA_ASKED_H

#include "io/source.h"
#include "src/cmd/files/data_import.h"
#include "src/vqa/import.h"

struct mf_data_asked {
    struct mf_session *session;
    struct mf_source *source; /* borrowed */
    struct mf_comm self;
    struct mf_vqa_import *import; /* NULL: there are no questions */
    char **file;                  /* [files] pictures that they are about, where no table names any */
    size_t files;
    const char *from; /* what has the samples */
    int measures;     /* objects are found in the images */
};

/** Refuses options that need --questions, and those that exclude it: MF_USAGE. Local. */
int mf_data_asked_check(const struct data_import *o);

/** Reads the questions, if there are any, and puts the pictures that they name into @p wish. Collective; refuses
 * (agreed) with MF_INPUT, also where ranks read different files. */
int mf_data_asked_begin(struct mf_session *session, const struct data_import *o, struct mf_source_wish *wish,
                        struct mf_data_asked *asked);
void mf_data_asked_end(struct mf_data_asked *asked);

/** Gives the questions to the samples of @p source, and puts them and the splits into @p wish. Local; MF_INPUT. */
int mf_data_asked_place(struct mf_data_asked *asked, struct mf_source *source, struct mf_dataset_wish *wish);

/** Makes sample @p id of the struct mf_data_asked @p asked, and finds its objects, for mf_dataset_write(). */
int mf_data_asked_sample(void *asked, size_t id, struct mf_sample *sample);

/** Tells what the questions of the set would be: text, or a member of @p json. Local. */
void mf_data_asked_tell(const struct mf_data_asked *asked, size_t samples, struct mf_json *json);

#endif
