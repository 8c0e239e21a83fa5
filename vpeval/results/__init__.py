"""Result files: views of the records in the formats of the challenges, in LaTeX and on the screen."""
