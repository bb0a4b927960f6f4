/// Files embedded in the programs byte for byte, and the version of the programs.
///
/// So a binary needs no folder with files next to it.
#ifndef HELIOGRAPH_CFILES_H
#define HELIOGRAPH_CFILES_H

/// The text of a file, NUL-terminated and valid forever; traps if there is no file of that name.
const char *_Nonnull hg_file_text(const char *_Nonnull name);

/// The version of the programs: SemVer without build metadata.
const char *_Nonnull hg_version(void);

#endif
