from vpeval import data as data
from vpeval import metrics as metrics
from vpeval import results as results

__version__: str
