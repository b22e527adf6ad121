"""Model checking with TLA+: finding the tools, running TLC, and reading its output. Needs only Python and Java."""

from peerproof.tla.manifest import SIZES, BadManifest, Configuration, Model, configurations, models
from peerproof.tla.output.outcome import Progress, Result, RunFailed
from peerproof.tla.tools.installation import Tools, ToolsUnusable, find

__all__ = [
    "SIZES",
    "BadManifest",
    "Configuration",
    "Model",
    "Progress",
    "Result",
    "RunFailed",
    "Tools",
    "ToolsUnusable",
    "configurations",
    "find",
    "models",
]
