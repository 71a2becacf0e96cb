"""Shell completion: what can follow on the command line, for bash, zsh and fish."""
