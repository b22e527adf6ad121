__all__ = [
    "BundleDiff",
    "BundleError",
    "VectorChange",
    "bundle_text",
    "compare_bundles",
    "export_bundles",
    "export_runner",
    "load_bundle",
    "make_bundle",
]

from .bundle import make_bundle
from .bundle_diff import BundleDiff, VectorChange, compare_bundles
from .bundle_file import BundleError, bundle_text, export_bundles, export_runner, load_bundle
