"""The HTML page of conformance reports, and the base template, macros and stylesheet that every HTML page shares."""
