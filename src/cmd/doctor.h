/* What doctor finds: one line each. Private to the verb. */
#ifndef MF_CMD_DOCTOR_H
#define MF_CMD_DOCTOR_H

#include "src/cmd/cmd.h"

enum mf_health { MF_WELL, MF_WARNED, MF_FAILED };

struct mf_finding {
    enum mf_health state;
    char what[32], text[256], remedy[192];
    char nodes[144]; /* the first two of them; "" where it is not of one node, or of the first alone */
    size_t on;       /* how many */
};

struct mf_findings {
    const struct mf_session *session;
    size_t count;
    struct mf_finding *at; /* [count], heap */
};

/** Adds one; @p remedy "" where there is nothing to do. */
void mf_find(struct mf_findings *to, enum mf_health state, const char *what, const char *remedy, const char *format,
             ...) __attribute__((format(printf, 5, 6)));

/** Adds what another node has found, @p one (with that node's name), to that of the node @p here: a line that both have
 * stands once, with both names. */
void mf_find_join(struct mf_findings *to, const char *here, const struct mf_finding *one);

/** " (node n2)", " (on n1, n2 and 60 more)" or "". */
void mf_find_where(const struct mf_finding *one, char *text, size_t n);

/** Processor, threads, memory, limits of the control group and of open files, shared memory, copies between processes,
 * network, GPUs and their libraries. Local. */
void mf_doctor_machine(struct mf_findings *to);

/** InfiniBand, and whether MPI can use it. @p root: as in nic.h. Local. */
void mf_doctor_network(struct mf_findings *to, const char *root);

/** Libraries and program: the same on all ranks? Collective. */
int mf_doctor_versions(struct mf_findings *to);

/** Do locks that one rank takes on a file in @p folder hold off the others, as runs' locks and MPI-IO need it? False:
 * the ranks do not see the same folder. Collective. */
int mf_doctor_locks(struct mf_findings *to, const char *folder);

/** Launcher and whether two ranks can be started (a run of one rank only). Rank 0. */
void mf_doctor_launch(struct mf_findings *to);

/** The folder for results: space, locks, renaming; and a file that all ranks write. Collective. */
int mf_doctor_folder(struct mf_findings *to);

#endif
