/// What the programs carry in them: files byte for byte, so that a binary needs no folder beside it,
/// and their version.
#ifndef HELIOGRAPH_CFILES_H
#define HELIOGRAPH_CFILES_H

/// The text of a file, which ends with a NUL and stays; traps if there is none of that name.
const char *_Nonnull hg_file_text(const char *_Nonnull name);

/// The version that the programs were built as: SemVer without build metadata.
const char *_Nonnull hg_version(void);

#endif
