#ifndef HELIOGRAPH_CLINUX_SHIM_H
#define HELIOGRAPH_CLINUX_SHIM_H

// Swift's Glibc module leaves these two headers out.
#include <sys/epoll.h>
#include <sys/eventfd.h>

#endif
