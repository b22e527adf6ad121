"""What model checking and fuzzing need of Scuttlebutt: bounded models, questions, variants, monitors."""
