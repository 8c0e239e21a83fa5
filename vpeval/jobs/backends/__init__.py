"""Where jobs run: a class for every kind of place, of which `vpeval.jobs.backends.base` says what it must do."""
