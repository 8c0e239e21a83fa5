"""Result files of the challenges, and LaTeX: views of the records."""
