"""The command line in a fork of a process that has torch already: see `server`."""
