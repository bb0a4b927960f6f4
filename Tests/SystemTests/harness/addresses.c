// Stands before the C library (LD_PRELOAD): "localhost" has the addresses of TEST_ADDRESSES.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
  look_up *real = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
  const char *addresses = getenv("TEST_ADDRESSES");
  if (!addresses || !name || strcmp(name, "localhost")) return real(name, service, hints, found);
  char *rest = strdup(addresses), *words = rest, *address;
  int status = EAI_NONAME;
  while ((address = strsep(&words, " "))) {
    status = real(address, service, hints, found);
    if (status) break;
    while (*found) found = &(*found)->ai_next;
  }
  free(rest);
  return status;
}
