__all__ = [
    "Mutant",
    "Score",
    "Scoring",
    "WrongRecord",
    "find_mutant",
    "is_enough",
    "load_mutant",
    "open_record",
    "select_mutants",
]

from .score import Score
from .scoring import Scoring, find_mutant, is_enough, load_mutant, open_record, select_mutants
from .sites import Mutant
from .verdict_log import WrongRecord
