// Nothing to call: LastWords.c works by being linked.
