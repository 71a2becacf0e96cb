"""What `--watch` needs of workers: forks of a process with torch, and the files that runs open."""
