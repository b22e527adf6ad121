"""The command line: thin commands; a command is imported only when it runs."""
