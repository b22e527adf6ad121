"""Reports of a run: the record, and text, JUnit, Markdown, HTML, GitHub annotations, badges, diffs and matrices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
