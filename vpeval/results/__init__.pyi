from vpeval.figures.catalogue import draw_figures
from vpeval.records.metrics import METRICS, Metric, describe
from vpeval.records.record import Record, read_records, write_records
from vpeval.report.compare_systems import compare
from vpeval.results.load import load as load_records
from vpeval.results.load import select as select_records
from vpeval.results.overview import means
from vpeval.results.summary import render as render_summary
from vpeval.results.text_tables import plain_table
from vpeval.results.worst import KeyNumber, key_numbers

__all__ = [
    "METRICS",
    "KeyNumber",
    "Metric",
    "Record",
    "compare",
    "describe",
    "draw_figures",
    "key_numbers",
    "load_records",
    "means",
    "plain_table",
    "read_records",
    "render_summary",
    "select_records",
    "write_records",
]
