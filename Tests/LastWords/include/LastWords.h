// Nothing to call: linking LastWords.c is enough.
