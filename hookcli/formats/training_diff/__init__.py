"""The document of a comparison of two trainings."""
