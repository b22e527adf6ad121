"""Model checking and fuzzing of Scuttlebutt: bounded models, questions, variants, monitors."""
