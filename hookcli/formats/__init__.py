"""Report → text: one file per format, and the view they share. Torch-free; nothing prints."""
