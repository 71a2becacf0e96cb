"""A report or a diff as a document, and the printers of documents."""
