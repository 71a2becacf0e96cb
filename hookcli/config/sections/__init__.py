"""The sections of a configuration, one key a file."""
