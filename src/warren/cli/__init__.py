"""The command line: one thin module per command, imported only when it is asked for."""
