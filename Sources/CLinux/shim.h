#ifndef HELIOGRAPH_CLINUX_SHIM_H
#define HELIOGRAPH_CLINUX_SHIM_H

// Swift's Glibc module leaves these headers out, but for the last.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <sys/prctl.h>

// Names the calling thread for ps and debuggers, by the first 15 bytes. Foundation does so only for a
// thread that it knows already, which a new one may not be yet.
static inline void heliograph_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

#endif
