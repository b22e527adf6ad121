"""The command line: thin commands, each imported only when it is asked for."""
