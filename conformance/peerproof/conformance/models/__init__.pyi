__all__ = [
    "EdgeCoverage",
    "GraphCheck",
    "GraphVerdict",
    "ModelCheck",
    "TableOutcome",
    "check_model",
    "compare_graphs",
    "generate_tables",
    "record_digest",
    "report_edges",
    "rewrite_vectors",
    "select_graphs",
    "select_models",
    "table_names",
    "table_protocols",
]

from .edge_coverage import EdgeCoverage, report_edges
from .generation import TableOutcome, generate_tables, table_names, table_protocols
from .graph_check import GraphCheck, GraphVerdict, compare_graphs, record_digest, select_graphs
from .model_check import ModelCheck, check_model, rewrite_vectors, select_models
