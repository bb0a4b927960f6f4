/* Counts the allocations of a process into the file that ALLOCATION_COUNTS names (8 bytes).
 *
 * Built as a shared object and loaded by LD_PRELOAD; whoever measures reads the file while the
 * process runs. It asks the admin port meanwhile: what that port's thread allocates is left out. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Atomic uint64_t unmapped;
static _Atomic uint64_t *count = &unmapped;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* A thread gets its name some allocations after its beginning. */
enum { LOOKS_AT_NAME = 4096 };
static _Thread_local int looks;
static _Thread_local int is_left_out;

static void note(void) {
    if (looks < LOOKS_AT_NAME) {
        char name[16] = "";
        looks++;
        prctl(PR_GET_NAME, name);
        is_left_out = strcmp(name, "admin") == 0;
    }
    if (!is_left_out) atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
    note();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **made, size_t alignment, size_t size) {
    *made = memalign(alignment, size);
    return *made ? 0 : 12;
}

__attribute__((constructor)) static void map_counts(void) {
    const char *path = getenv("ALLOCATION_COUNTS");
    int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) return;
    void *page = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) count = page;
    close(file);
}
