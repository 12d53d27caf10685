"""The report of a run on one page: gathered, packed, and put into one HTML file."""

from pysgrld.report.making import Page, report

__all__ = ["Page", "report"]
