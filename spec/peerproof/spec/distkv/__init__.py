"""DistKV: a replicated store without a master, whose nodes tell each other every change. [D-01, D-57]"""
