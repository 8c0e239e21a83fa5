"""What an evaluation measures: the recipe of a corpus, and the plan that a run makes of it."""
