/* The memory that a run needed, per rank, and the prediction of the plan. */
#ifndef MF_SESSION_PEAKS_H
#define MF_SESSION_PEAKS_H

#include "src/base/json.h"
#include "src/session/session.h"

struct mf_peaks {
    int ranks;
    double *arena;  /* [ranks] high-water mark of the arena: what the program has counted */
    double *rss;    /* [ranks] the system's count (src/base/resident.h), without program and libraries at the start */
    double *device; /* [ranks] high-water mark of the arena of device memory; NULL: there is only one arena */
    double *used;   /* backend->peak(): the device's count; NULL: none */
    double *predicted;        /* [ranks] session->predicted; NULL: not known */
    double *predicted_device; /* [ranks] the same of device memory */
};

/** Gathers them. Collective; refuses (agreed) with MF_MEMORY. */
int mf_peaks_of(const struct mf_session *session, struct mf_peaks *peaks);
void mf_peaks_free(struct mf_peaks *peaks);

/** Gathers them, and puts them into the object of a run as below. Collective; refuses (agreed) with MF_MEMORY. */
int mf_peaks_put(const struct mf_session *session, struct mf_json *at);

/** "peak_bytes": {"predicted", "arena", "rss", "device"}. null: not known, or there is only host memory. Also
 * "device_used" if a device counts, and "predicted_device" if it was planned. */
void mf_peaks_json(const struct mf_peaks *peaks, struct mf_json *at);

/**
 * Did a dry run end (@p rc) at --memory-limit? Then clears the refusal and removes the limit. Measure again, and
 * mf_peaks_over() (collective) refuses with the bytes of all arrays.
 */
int mf_peaks_unlimited(const struct mf_session *session, int rc);
int mf_peaks_over(const struct mf_session *session);

/** One line about the fullest rank; for debugging also each rank's arrays. Not collective. */
void mf_peaks_say(const struct mf_session *session, const struct mf_peaks *peaks);

#endif
