"""Model checking and fuzzing of DistKV: bounded models, questions, variants, monitors."""
