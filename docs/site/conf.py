"""The site of the documentation: .ci/site builds it into build/site/html, which opens from a folder."""

from importlib.metadata import version as version_of

project, author, copyright = "sgmc", "The sgmc developers", "The sgmc developers"
version = release = version_of("pysgrld")
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme, html_title = "furo", f"sgmc {version}"
#: Anchors as the pages have them where they are read as files.
myst_heading_anchors = 5
suppress_warnings = ["misc.highlighting_failure", "toc.not_included"]  # internals are linked
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # which the docstrings have, in words
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpicky = False
