/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A barrier: the threads of one parallel region wait for each other.
 *
 * A waiting thread spins for about .1 ms and then sleeps 50 us at a time.  OpenMP's own barrier puts threads to sleep at once
 * (_process/openmp.py).  That is right between calls, but waking them takes longer than the work between two barriers of a
 * sweep.  (With sched_yield instead of sleeping, a sweep took twice as long while two other processes kept the cores busy.)
 */
#ifndef NMLSDR_TEAM_H
#define NMLSDR_TEAM_H

#include "platform.h"

#ifdef _WIN32
__declspec(dllimport) void __stdcall Sleep(unsigned long milliseconds); /* windows.h defines near and far */
#define NM_NAP() Sleep(0)
#else
#include <time.h>
#define NM_NAP() nanosleep(&(struct timespec){0, 50000}, NULL)
#endif
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define NM_PAUSE() __builtin_ia32_pause()
#else
#define NM_PAUSE() ((void)0)
#endif
#define NM_SPINS 4000

/* Initialized with zeros. */
typedef struct {
    int waiting;
    unsigned turn;
} nmlsdr_meeting;

/* The number of threads of this region, which may be smaller than requested. */
static int nmlsdr_members(void)
{
#ifdef _OPENMP
    return omp_get_num_threads();
#else
    return 1;
#endif
}

static void nmlsdr_meet(nmlsdr_meeting *meeting, int members)
{
    if (members == 1) return;
#ifdef __GNUC__
    const unsigned turn = __atomic_load_n(&meeting->turn, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&meeting->waiting, 1, __ATOMIC_ACQ_REL) == members) {
        __atomic_store_n(&meeting->waiting, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&meeting->turn, turn + 1, __ATOMIC_RELEASE);
        return;
    }
    for (int spins = 0; __atomic_load_n(&meeting->turn, __ATOMIC_ACQUIRE) == turn;)
        if (spins < NM_SPINS) {
            NM_PAUSE();
            spins++;
        } else NM_NAP();
#elif defined(_OPENMP)
#pragma omp barrier
#endif
}

#endif
