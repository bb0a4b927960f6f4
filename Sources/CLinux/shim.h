#ifndef HELIOGRAPH_CLINUX_SHIM_H
#define HELIOGRAPH_CLINUX_SHIM_H

// Swift's Glibc module lacks these headers, except for the last one.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <sys/prctl.h>

// Sets the calling thread's name, of which 15 bytes are used, for ps and debuggers. Foundation does
// so only for threads that it already knows, and it may not know a new one yet.
static inline void heliograph_name_thread(const char *name) {
    prctl(PR_SET_NAME, name);
}

#endif
