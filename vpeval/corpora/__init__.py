"""Real corpora: fetched, read in their released layouts, and turned into the sets of a recipe."""
