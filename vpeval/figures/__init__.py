"""The figures of the papers, drawn from the records of one or several runs; one function a figure."""
