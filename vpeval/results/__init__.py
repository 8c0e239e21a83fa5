"""Result files: views of the records in the formats of the challenges, in LaTeX and on the screen.

What is offered here is described in docs/library.md.
"""

from vpeval.core.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "KeyNumber": "worst.KeyNumber",
        "METRICS": "vpeval.records.metrics.METRICS",
        "Metric": "vpeval.records.metrics.Metric",
        "Record": "vpeval.records.record.Record",
        "compare": "vpeval.report.compare_systems.compare",
        "describe": "vpeval.records.metrics.describe",
        "draw_figures": "vpeval.figures.catalogue.draw_figures",
        "key_numbers": "worst.key_numbers",
        "load_records": "load.load",
        "means": "overview.means",
        "plain_table": "text_tables.plain_table",
        "read_records": "vpeval.records.record.read_records",
        "render_summary": "summary.render",
        "select_records": "load.select",
        "write_records": "vpeval.records.record.write_records",
    },
)
