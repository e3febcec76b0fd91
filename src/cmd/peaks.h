/* What a run needed of memory, per rank, beside what was foretold. */
#ifndef MF_CMD_PEAKS_H
#define MF_CMD_PEAKS_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"

struct mf_peaks {
    int ranks;
    double *arena; /* [ranks] high-water mark of the arena: what the program has booked */
    double *rss; /* [ranks] what the system counted (src/base/resident.h): program and libraries at the begin are not in
                    it */
    double *device;           /* [ranks] high-water mark of the arena of device memory; NULL: one arena is both */
    double *used;             /* backend->peak(): what the device says; NULL: nobody counts it */
    double *predicted;        /* [ranks] session->predicted; NULL: it is not known */
    double *predicted_device; /* [ranks] the same of device memory */
};

/** Gathers them. Collective; refuses (agreed) with MF_MEMORY. */
int mf_peaks_of(const struct mf_session *session, struct mf_peaks *peaks);
void mf_peaks_free(struct mf_peaks *peaks);

/** "peak_bytes": {"predicted", "arena", "rss", "device"}; null where it is not known, or where there is no memory but
 * the host's; and "device_used" where a device counts, "predicted_device" where it was planned. */
void mf_peaks_json(const struct mf_peaks *peaks, struct mf_json *at);

/**
 * Has a dry run ended (@p rc) at --memory-limit? Then that is forgotten and the limit is gone: measure again, and let
 * mf_peaks_over() (collective) refuse with the bytes of all arrays.
 */
int mf_peaks_unlimited(const struct mf_session *session, int rc);
int mf_peaks_over(const struct mf_session *session);

/** One line about the fullest rank; for whoever debugs, what each rank's arrays took. Not collective. */
void mf_peaks_say(const struct mf_session *session, const struct mf_peaks *peaks);

#endif
