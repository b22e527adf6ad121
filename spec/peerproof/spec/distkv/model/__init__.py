"""What model checking and fuzzing need of DistKV: bounded models, questions, variants, monitors."""
