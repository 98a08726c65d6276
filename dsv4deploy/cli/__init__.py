"""The command line: one file a command under `commands/`."""
