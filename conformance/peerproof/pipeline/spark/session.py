"""
A Spark session with readable errors: the output of Java and Spark goes to a log, not to the terminal.

Sessions are local by default. On a cluster (`spark://…`) and over Spark Connect (`sc://…`) the same code runs, with this package
sent to the executors. `--master none` uses one process without Spark, for small inputs and for machines without Java.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from peerproof.pipeline.spark.packages import pack
from peerproof.pipeline.spark.quick_start import FAST, java_options
from peerproof.pipeline.spark.spark_errors import SparkUnusable, explain
from peerproof.tla.tools.installation import ToolsUnusable, find_jdk, java_version

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: All cores of this machine, and three retries of a failed task; plain `local[*]` has none.
LOCAL: Final = "local[*,4]"
NO_SPARK: Final = "none"

_PORTS: Final = {"spark": 7077, "sc": 15002}
_PATIENCE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a session. `conf` takes precedence."""

    master: str = LOCAL
    remote: str | None = None  #: a Spark Connect server, instead of a master
    conf: Sequence[tuple[str, str]] = ()
    quick: bool = True  #: use a Java that starts fast and compiles little, because the work is done in Python
    log: Path | None = None  #: file for the output of Java and Spark; None: a temporary file


@contextmanager
def session(settings: Settings) -> Iterator[SparkSession | None]:
    """A context with a session; None for `--master none`. Raises SparkUnusable, also for a failed job."""
    if settings.remote is None and settings.master == NO_SPARK:
        yield None
        return
    if find_spec("pyspark") is None:
        raise SparkUnusable("pyspark is not installed: pip install 'peerproof[pipeline]'")
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
    from pyspark.errors import PySparkException

    folders = tempfile.TemporaryDirectory(prefix="peerproof-")
    with folders as folder, _log(settings.log) as log, _unlogged_interruptions(), ExitStack() as ending:
        try:
            spark = _remote(settings, Path(folder)) if settings.remote else _classic(settings, Path(folder), log)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            raise SparkUnusable(explain(error, _end_of(log))) from error
        try:
            yield spark
        except BrokenPipeError:
            raise  # the reader of our output has exited; if Java has, that is a Py4JError
        except (PySparkException, Py4JError, ConnectionError) as error:
            raise SparkUnusable(explain(error, _end_of(log))) from error
        except KeyboardInterrupt:
            ending.enter_context(_finish_undisturbed(spark))
            with suppress(Exception):
                spark.interruptAll()
            raise
        finally:
            with _finish_undisturbed(spark), suppress(Exception):  # Java may have died
                spark.stop()


@contextmanager
def _unlogged_interruptions() -> Iterator[None]:
    """A context in which Ctrl-C amid a question to Java is not logged with a stack trace."""

    def is_something_else(record: logging.LogRecord) -> bool:
        return not (record.exc_info and record.exc_info[0] is KeyboardInterrupt)

    logging.root.addFilter(is_something_else)
    try:
        yield
    finally:
        logging.root.removeFilter(is_something_else)


@contextmanager
def _finish_undisturbed(spark: SparkSession) -> Iterator[None]:
    """A context in which Ctrl-C does not interrupt what ends a session; pressed again, it kills a Java that does not answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    java = getattr(getattr(getattr(spark, "_sc", None), "_gateway", None), "proc", None)
    presses = count(1)

    def handle(*_: object) -> None:
        if next(presses) > 1 and java is not None:
            java.kill()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ui_address(spark: SparkSession) -> str | None:
    """Returns the address of Spark's web UI, if enabled (`--conf spark.ui.enabled=true`); None over Spark Connect."""
    context = getattr(spark, "_sc", None)
    return context.uiWebUrl if context is not None else None


def configuration(settings: Settings, folder: Path) -> dict[str, str]:
    """Returns the configuration of a session whose driver is this process."""
    cores = os.cpu_count() or 1
    conf = {
        "spark.app.name": "peerproof",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if settings.quick:
        conf["spark.driver.extraJavaOptions"] = java_options()
        conf["spark.executor.extraJavaOptions"] = FAST
    if _on_this_machine(settings.master):
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if not settings.master.startswith("local"):
        conf["spark.submit.pyFiles"] = str(pack(folder / "peerproof.zip"))
    return conf | dict(settings.conf)


def _classic(settings: Settings, folder: Path, log: IO[bytes]) -> SparkSession:
    try:
        java_version(find_jdk())
    except ToolsUnusable as problem:
        raise SparkUnusable(f"Spark needs Java: {problem}") from None
    _reach(settings.master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if _on_this_machine(settings.master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(settings.master)
    for name, value in configuration(settings, folder).items():
        builder = builder.config(name, value)
    with _output_to(log), _kept_handler():
        return builder.getOrCreate()


@contextmanager
def _kept_handler() -> Iterator[None]:
    """A context after which Ctrl-C is handled as before: Spark's own handler asks Java first, amid any other question to it."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _remote(settings: Settings, folder: Path) -> SparkSession:
    assert settings.remote is not None
    if find_spec("grpc") is None:
        raise SparkUnusable("Spark Connect needs gRPC, which is not installed: pip install 'pyspark[connect]'")
    _reach(settings.remote)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(settings.remote).config("spark.sql.session.timeZone", "UTC")
    for name, value in settings.conf:
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.addArtifacts(str(pack(folder / "peerproof.zip")), pyfile=True)
    return spark


def _on_this_machine(master: str) -> bool:
    return master.startswith("local") or re.match(r"spark://(127\.|localhost)", master) is not None


def _reach(url: str) -> None:
    """Checks that a server is reachable, because Spark itself tries for a minute. Raises SparkUnusable."""
    found = re.match(r"(spark|sc)://([^:/;,]+|\[[^\]]+\])(?::(\d+))?", url)
    if found is None or "," in url:  # several masters: Spark finds the leader
        return
    host, port = found[2].strip("[]"), int(found[3] or _PORTS[found[1]])
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        what = "Spark Connect server" if found[1] == "sc" else "Spark master"
        why = error.strerror or error
        raise SparkUnusable(f"no {what} answers at {host}:{port} ({why}): start it, or correct {url}") from None


@contextmanager
def _log(path: Path | None) -> Iterator[IO[bytes]]:
    with path.open("w+b") if path else tempfile.TemporaryFile() as log:
        yield log


@contextmanager
def _output_to(log: IO[bytes]) -> Iterator[None]:
    """Redirects the output of processes started in the block, which is Java; it writes warnings to standard output, too."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        yield
    finally:
        for ours, descriptor in zip(kept, (1, 2), strict=True):
            os.dup2(ours, descriptor)
            os.close(ours)


def _end_of(log: IO[bytes]) -> str:
    with suppress(OSError, ValueError):
        size = os.fstat(log.fileno()).st_size
        return os.pread(log.fileno(), 2**18, max(0, size - 2**18)).decode(errors="replace")
    return ""
