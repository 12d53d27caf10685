"""What a run found, on one page: gathered, packed, and put into one HTML file."""

from pysgrld.report.making import Page, report

__all__ = ["Page", "report"]
