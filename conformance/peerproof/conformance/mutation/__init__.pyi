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

from .mutant_files import WrongRecord
from .scoring import Score, Scoring, find_mutant, is_enough, load_mutant, open_record, select_mutants
from .sites import Mutant
