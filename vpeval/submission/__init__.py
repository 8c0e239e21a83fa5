"""The submission to a challenge: an archive of results, scores and anonymised speech, and a check of any such one."""
