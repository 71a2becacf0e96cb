"""What a newcomer reads in the terminal: help pages with sections and examples, a welcome."""
