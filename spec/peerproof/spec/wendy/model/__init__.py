"""What model checking and fuzzing need of Wendy: bounded models, questions, variants, monitors."""
