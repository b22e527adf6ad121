"""DistKV at run time: the store, its disk and journal, and downloads between nodes."""
