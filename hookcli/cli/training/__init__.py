"""`hookcli run`: its request, the process that becomes the script, and the end of the run."""
