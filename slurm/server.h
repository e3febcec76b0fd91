/* Servers of models in containers: a table of kinds, and the command lines that start, watch and stop one.
 * Rule: a container gets the GPUs that are named and no others, and its model for reading only. */
#ifndef MF_SLURM_SERVER_H
#define MF_SLURM_SERVER_H

#include "slurm/box.h"

/** A model continues texts, or makes vectors of them. */
enum { MF_MAKES_TEXT = 1, MF_MAKES_VECTORS = 2 };

struct mf_server;

/** A kind of server, as its documents describe it. */
struct mf_server_kind {
    const char *name;        /* as --api-type says it */
    const char *image;       /* on GPUs; NULL: it depends on their capability */
    const char *cores_image; /* without GPUs */
    const char *sif;         /* for apptainer; NULL: the same image, from its registry */
    const char *make;        /* arguments that make the image, which no registry has; NULL: one has it */
    long port;               /* on which the image listens */
    const char *health;      /* path that answers 200 as soon as requests are served */
    const char *check;       /* command of the image that then ends with 0; NULL: it has none */
    unsigned makes;          /* MF_MAKES_.. */
    long gpus;               /* at most; 0: any number */
    int folders, names;      /* its model: files that are here; a name that it downloads */
    int trusts;              /* it can run code that comes with a model */
    int tensors, pipeline;   /* GPUs can share each layer; each GPU can have some layers */
    void (*options)(const struct mf_server *server, struct mf_words *to); /* of the container; NULL: none */
    void (*words)(const struct mf_server *server, struct mf_words *to);   /* of the program in the image; NULL: none */
};

/** The kinds, NULL-terminated. */
extern const struct mf_server_kind *const mf_server_kinds[];

/** A server to start. */
struct mf_server {
    const struct mf_server_kind *kind;
    enum mf_box box; /* docker, podman or apptainer */
    const char *image, *name;
    const char *host; /* IPv4 address of this machine, on which it can be reached */
    long port;
    const char *model;  /* as the server is told: a path in the container, or a name; "": none */
    const char *called; /* the model in requests */
    const char *mount;  /* "DIR:DIR:ro", its files; NULL: none are here */
    long gpus;
    const char *devices; /* "0,2" or names, as they are outside; "": the cores compute */
    enum mf_gpu_flag flag;
    int is_labelled; /* SELinux is enforced: docker and podman are told not to label this container */
    int is_pipeline; /* each GPU has some of the layers, instead of a part of each */
    const char *shm, *restart;
    size_t volumes, variables;
    const char *const *volume;   /* [volumes] "DIR:DIR" */
    const char *const *variable; /* [variables] "NAME=VALUE": they win over those of the kind */
    int trusts;                  /* code that comes with the model is run */
    long user;                   /* who starts it */
    size_t words;
    const char *const *word; /* [words] further ones of the server */
};

/** The default image on GPUs of this capability (10 major + minor), or on cores (0). NULL: none is known. */
const char *mf_server_image(const struct mf_server_kind *kind, enum mf_box box, int capability);

/** Does its image exist on this machine alone? */
int mf_server_is_local(const struct mf_server *server);

/** Has "NAME=VALUE" a name that looks like that of a secret? */
int mf_server_is_secret(const char *variable);

/** Puts into this process's environment what its runtime takes from there: secrets, which are in no command line. */
void mf_server_environment(const struct mf_server *server);

/** The command that starts it. The caller frees @p words. */
void mf_server_words(const struct mf_server *server, struct mf_words *words);

/** A question about a container, or an order to it. */
enum mf_server_act { MF_SERVER_STATE, MF_SERVER_LOG, MF_SERVER_STOP, MF_SERVER_REMOVE };

/** The command for it. Returns 0 where this runtime needs none. The caller frees @p words. */
int mf_server_act_words(enum mf_box box, enum mf_server_act act, const char *name, struct mf_words *words);

#endif
