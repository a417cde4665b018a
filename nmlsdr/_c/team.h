/* Where the threads of one parallel region wait for each other.
 *
 * They look for about .1 ms and then take naps: OpenMP's own barrier puts them to sleep at once (_process/openmp.py), which is
 * right between calls and takes longer than what lies between two barriers of a sweep.  (To give the time away by
 * sched_yield instead of the naps took twice as long beside two busy processes.)
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
#define NM_LOOKS 4000

/* All zeros at first. */
typedef struct {
    int waiting;
    unsigned turn;
} nmlsdr_meeting;

/* How many threads there are, which may be fewer than were asked for. */
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
    for (int looks = 0; __atomic_load_n(&meeting->turn, __ATOMIC_ACQUIRE) == turn;)
        if (looks < NM_LOOKS) {
            NM_PAUSE();
            looks++;
        } else
            NM_NAP();
#elif defined(_OPENMP)
#pragma omp barrier
#endif
}

#endif
