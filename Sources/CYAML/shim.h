#ifndef HELIOGRAPH_CYAML_SHIM_H
#define HELIOGRAPH_CYAML_SHIM_H

#include <yaml.h>

#endif
