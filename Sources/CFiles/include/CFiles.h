/// Files that the programs carry in them, byte for byte: a binary needs no folder beside it.
#ifndef HELIOGRAPH_CFILES_H
#define HELIOGRAPH_CFILES_H

/// The text of a file, which ends with a NUL and stays; traps if there is none of that name.
const char *_Nonnull hg_file_text(const char *_Nonnull name);

#endif
