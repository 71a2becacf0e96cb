"""The data of a page: the columns, rows and links that its scripts show, made from a report."""
