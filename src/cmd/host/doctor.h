/* Findings of doctor, one line each. Private to the verb. */
#ifndef MF_CMD_HOST_DOCTOR_H
#define MF_CMD_HOST_DOCTOR_H

#include "src/cmd/cmd.h"

enum mf_health { MF_WELL, MF_WARNED, MF_FAILED };

struct mf_finding {
    enum mf_health state;
    char what[32], text[256], remedy[192];
    char nodes[144]; /* the first two of them; "": not of one node, or only of the first */
    size_t on;       /* number of nodes */
};

struct mf_findings {
    const struct mf_session *session;
    size_t count;
    struct mf_finding *at; /* [count], heap */
};

/** Adds a finding; @p remedy "": nothing to do. */
void mf_find(struct mf_findings *to, enum mf_health state, const char *what, const char *remedy, const char *format,
             ...) __attribute__((format(printf, 5, 6)));

/** Adds @p one, a finding of another node (with that node's name), to those of node @p here. A line that both have
 * appears once, with both names. */
void mf_find_join(struct mf_findings *to, const char *here, const struct mf_finding *one);

/** " (node n2)", " (on n1, n2 and 60 more)" or "". */
void mf_find_where(const struct mf_finding *one, char *text, size_t n);

/** Processor, threads, memory, limits of the control group and of open files, shared memory. Copies between processes,
 * network, GPUs and their libraries, programs that run containers. Local. */
void mf_doctor_machine(struct mf_findings *to);

/** InfiniBand, and whether MPI can use it. @p root: see nic.h. Local. */
void mf_doctor_network(struct mf_findings *to, const char *root);

/** Libraries and program: the same on all ranks? Collective. */
int mf_doctor_versions(struct mf_findings *to);

/** Does a file lock of one rank in @p folder exclude the other ranks? Locks of runs and MPI-IO require that. False: the
 * ranks do not see the same folder. Collective. */
int mf_doctor_locks(struct mf_findings *to, const char *folder);

/** The launcher, and whether two ranks can be started (only in a run of one rank). Rank 0. */
void mf_doctor_launch(struct mf_findings *to);

/** The folder for results: space, locks, renaming, and a file that all ranks write. Collective. */
int mf_doctor_folder(struct mf_findings *to);

#endif
