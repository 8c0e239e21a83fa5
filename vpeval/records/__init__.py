"""Records: the one table of results, what its fields mean, and the names that all results share."""
