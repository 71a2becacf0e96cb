"""`--watch`: a command that runs again whenever a file that it read changes."""
