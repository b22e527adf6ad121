"""Readable errors of Spark: the cause and what to do, instead of a Java stack trace."""

from __future__ import annotations

import re
from typing import Final

from peerproof.tla.tools.installation import INSTALL_JAVA


class SparkUnusable(Exception):
    """Spark does not start, or a job failed; the message says what to do."""


#: Pattern in the output of Java or Spark -> message. The first match counts.
_USUAL: Final = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (
            r"UnsupportedClassVersionError|Module jdk\.incubator\.vector not found|JAVA_HOME is not set",
            f"this Java cannot run Spark: {INSTALL_JAVA}; a reduced runtime does not do",
        ),
        (
            r"No space left on device|Disk quota exceeded",
            "the disk is full: make room, or name another for Spark's own files: --conf spark.local.dir=/path",
        ),
        (
            r"Failed to create (?:any local|a temp|)\s*dir(?:ectory)?\b[^\n]{0,80}",
            "Spark cannot write its own files: name a folder for them: --conf spark.local.dir=/path",
        ),
        (
            r"Address already in use|BindException|Service '\w+' failed after \d+ retries",
            "a port is taken: leave out --conf spark.ui.port and the like, or name a free one",
        ),
        (
            r"OutOfMemoryError|Java heap space|Could not reserve enough space|insufficient memory for the Java",
            "Java has too little memory: --conf spark.driver.memory=4g (on a cluster, spark.executor.memory as well); "
            "if the machine has no more, fewer workers at once: --master 'local[1,4]'",
        ),
        (
            r"Invalid (maximum|initial) heap size|must be at least \d+",
            "Spark's memory is too small: --conf spark.driver.memory=1g",
        ),
        (
            r"PYTHON_VERSION_MISMATCH|different version",
            "driver and executors run different Pythons: set PYSPARK_PYTHON to one that both have",
        ),
        (r"Cannot run program \"([^\"]*)\"", "the executors have no such Python; set PYSPARK_PYTHON to one that they have"),
        (r"ModuleNotFoundError: (No module named '[\w.]+')", "the executors lack a package; install peerproof[pipeline] there"),
        (
            r"All masters are unresponsive|Could not parse Master URL|Master must either be",
            "there is no such master: correct --master",
        ),
        (r"Python worker exited unexpectedly", "a Python worker died, perhaps for lack of memory: --master 'local[1,4]'"),
    )
)

#: The line of a log with the exception that ended Java, or with an error.
_JAVA_SAID: Final = re.compile(r"^Exception in thread \"main\" (.*)$|^\S+ \S+ ERROR (.*)$", re.MULTILINE)
_LAST_OF_TRACEBACK: Final = re.compile(r"^((?:[\w.]+\.)?[A-Za-z_]\w*: .*)$", re.MULTILINE)


def explain(error: BaseException, log: str) -> str:
    """Returns the message for an error of Spark; `log` is the end of Java's output."""
    if isinstance(error, SparkUnusable):
        return str(error)
    said = str(error).strip()
    for text in (said, log):
        for pattern, meaning in _USUAL:
            if found := pattern.search(text):
                return f"{meaning} ({found[0].strip()})"
    of_java = ["".join(groups) for groups in _JAVA_SAID.findall(log)]
    what = _last_of_python(said) or (of_java[-1] if of_java else said.splitlines()[0] if said else type(error).__name__)
    return f"Spark failed: {what.strip()[:400]}; --log FILE keeps its whole output"


def _last_of_python(said: str) -> str | None:
    """Returns the last line of a Python traceback, with the exception."""
    _, traceback, rest = said.partition("Traceback (most recent call last):")
    found = _LAST_OF_TRACEBACK.findall(rest.partition("\n\tat ")[0]) if traceback else []
    return found[-1] if found else None
