/* Private to the verb deploy: its options, and what is decided before a container starts. */
#ifndef MF_CMD_HOST_DEPLOY_H
#define MF_CMD_HOST_DEPLOY_H

#include "slurm/server.h"
#include "src/cmd/cmd.h"
#include "src/model/language.h"
#include "src/place/devices.h"
#include "src/plan/toolkit.h"

struct mf_deploy_opts {
    struct mf_common common;
    const char *model, *api, *strategy, *hardware, *flag;
    struct mf_texts devices, env, volumes;
    const char *image, *host, *name, *shm, *restart, *stop;
    long port, wait;
    int auto_select, detect_only, trusts;
};

/** Refuses (MF_USAGE) options that are wrong or contradict each other. Local. */
int mf_deploy_check(const struct mf_session *session, void *options);

/** The program that runs containers, the first argument: MF_USAGE. */
int mf_deploy_box(const struct mf_session *session, enum mf_box *box);

/** The server of --api-type. */
const struct mf_server_kind *mf_deploy_kind(const char *api);

/** A model as a server gets it. */
struct mf_deploy_model {
    char *mount;     /* "DIR:DIR:ro", its files; NULL: a name that the server downloads */
    char *there;     /* path or name that the server is told */
    char *called;    /* last part of its name */
    char what[80];   /* the class of its configuration */
    unsigned makes;  /* MF_MAKES_..; 0: not known */
    int is_language; /* the sizes are known here */
    struct mf_language language;
};

/** GPUs of a container. */
struct mf_deploy_gpus {
    long count;
    char *list;            /* as they are called outside: "0,2", "MIG-.."; "": none */
    int capability;        /* of the first, 10 major + minor; 0: none, -1: not known */
    char why[MF_ERR_TEXT]; /* reason of --auto-select; "" */
};

/** Finds what a model is: files that are here, or a name. Refuses with MF_INPUT, and with MF_USAGE a model that the
 * server cannot serve. Local. mf_deploy_model_free() frees, also after a refusal. */
int mf_deploy_model_find(const char *model, const struct mf_server_kind *kind, struct mf_deploy_model *found);
void mf_deploy_model_free(struct mf_deploy_model *model);

/** Finds the GPUs of --devices or --auto-select, else all of this machine. Refuses with MF_USAGE, MF_DEVICE, MF_INPUT,
 * MF_MEMORY. One rank. mf_deploy_gpus_free() frees, also after a refusal. */
int mf_deploy_gpus_find(const struct mf_session *session, const struct mf_deploy_opts *o,
                        const struct mf_server_kind *kind, const struct mf_deploy_model *model,
                        struct mf_deploy_gpus *gpus);
void mf_deploy_gpus_free(struct mf_deploy_gpus *gpus);

/** Does each GPU get some of the layers, instead of a part of each? Refuses with MF_USAGE what server or model cannot.
 * Local. */
int mf_deploy_share(const struct mf_deploy_opts *o, const struct mf_server_kind *kind,
                    const struct mf_deploy_model *model, long gpus, int *is_pipeline);

/** Prints the GPUs of this machine, the programs that run containers, and how these give them GPUs. One rank. */
int mf_deploy_detect(const struct mf_session *session, const struct mf_deploy_opts *o);

/** Prints the command. Local. */
int mf_deploy_show(const struct mf_server *server, const struct mf_words *words, int as_json);

/** Tries the port, starts the container and waits until it is healthy. Then it prints how to ask it. Refuses with
 * MF_DEVICE. Local. */
int mf_deploy_start(const struct mf_server *server, const struct mf_words *words, const struct mf_deploy_opts *o,
                    unsigned makes);

/** Stops and removes a container. Refuses with MF_DEVICE. Local. */
int mf_deploy_stop(enum mf_box box, const char *name, int dry_run);

/** Prints the address of a server and a request for each of its dialects. Local. */
int mf_deploy_tell(const struct mf_server *server, unsigned makes, int as_json);

#endif
