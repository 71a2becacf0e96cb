"""`hookcli run`: from its command line to the process of the script, and its end."""
