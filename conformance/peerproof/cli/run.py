"""
Runs the conformance vectors against an implementation.

  peerproof run                                         the reference, every vector
  peerproof run swim --impl './my-adapter --flag'       a program that speaks the adapter protocol (started without a shell)
  peerproof run --impl tcp://127.0.0.1:7777             an adapter that listens, such as under a debugger (--op-timeout 0)
  peerproof run --impl py:my_package.adapter:Adapter    a Python class, in this process
  peerproof run --impl ./my-adapter --dialogue mine.dialogue.gz    record every request and reply
  peerproof run --impl recorded:mine.dialogue.gz        the same run again without the program
  peerproof run -k 'clause:B-14 !flag:slow'             some vectors only (peerproof vectors list -k ... lists them)
  peerproof run -k digest-request-of-one#decode         one case only
  peerproof run --impl ./my-adapter --assume known.txt  continue after known differences, to find later failures
  peerproof run --decisions strict                      also fail where only a decision is violated, not the document
  peerproof run --write-known-failing known.txt         write the list of the cases that fail now
  peerproof run --known-failing known.txt               expected failures; each must still fail as the list says
  peerproof run --known-failing known.txt --write-known-failing known.txt    add what newly fails, remove what passes
  peerproof run --format junit --output report.xml      for other programs; an existing file is replaced as a whole
  peerproof run --format html --output page.html        one page with a diagram of each failure; it needs no network
  peerproof run --format github                         annotations of a GitHub workflow
  peerproof run --record run.jsonl                      the full report, written line by line as cases finish
  peerproof run --transport virtual,udp                 over the implementation's real socket as well
  peerproof run scuttlebutt --connect udp://127.0.0.1:8119    a running node, without an adapter
  peerproof run scuttlebutt --pcap capture.pcapng       the nodes in a capture (also .gz)

A failing case prints its clauses, what happened, the first difference, and two commands to paste. The summary groups failures by
first difference and names the case to start with; peerproof report groups prints all groups. The same --seed gives the same run.

An implementation that sends without end is reported as flooded, and the run goes on (--max-messages and others). One that does
not answer in time is run again with more time before it is reported as hung.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peerproof.cli import options
from peerproof.cli.command import count, interruptible, refuse
from peerproof.cli.console import is_verbose, note, print_error
from peerproof.cli.exits import FAILED, INTERRUPTED, NOTHING, OK, UNUSABLE, Refusal
from peerproof.cli.implementation import (
    add_bounds,
    add_impl,
    add_timeouts,
    bounds,
    limits_as_arguments,
    make_reach,
    refuse_unavailable,
)
from peerproof.cli.ticker import Ticker
from peerproof.cli.time_left import TimeLeft
from peerproof.cli.transports import SLACK, add_transports, apply_transports, refuse_unused, running
from peerproof.conformance.adapter.adapter import Adapter
from peerproof.conformance.adapter.dialogue import DialogueFile
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.report.failure_groups import list_failing
from peerproof.conformance.report.record import Report, case_line
from peerproof.conformance.report.session import RunVerdict, Session, begin_report, stale_entries
from peerproof.conformance.runner import expected_failures, worker
from peerproof.conformance.runner.cases import case_ids, select_cases
from peerproof.conformance.runner.claims import check_claims, unopened_nodes
from peerproof.conformance.runner.result import STATUSES, Result
from peerproof.conformance.runner.runner import Settings
from peerproof.conformance.runner.trial import Case
from peerproof.conformance.suite import output
from peerproof.conformance.suite.printable import count_text
from peerproof.conformance.vectors.suite import Suite

if TYPE_CHECKING:
    from peerproof.conformance.report.assumptions import Assumptions

#: Options of every command that do not change a report.
IGNORED: Final = frozenset({"usual", "quiet", "verbose", "color", "no_progress"})

FORMATS = ("text", "json", "jsonl", "junit", "md", "html", "github")

EXIT_CODES = {
    RunVerdict.AS_EXPECTED: OK,
    RunVerdict.FAILED: FAILED,
    RunVerdict.UNUSABLE: UNUSABLE,
    RunVerdict.NOTHING_RUN: NOTHING,
    RunVerdict.INTERRUPTED: INTERRUPTED,
}


EXITS: Final = {
    OK: "every case has the expected result",
    FAILED: "a case failed, or an expected failure passed",
    UNUSABLE: "the adapter cannot be used",
    NOTHING: "nothing selected, or every case skipped",
    INTERRUPTED: "interrupted; the report is marked partial",
}


def configure(parser: ArgumentParser) -> None:
    """Declares the options, those that matter first."""
    what = parser.add_argument_group("what to run")
    add_impl(what)
    options.add_selection(what)
    options.add_vectors(what)
    what.add_argument("--seed", default="0", help="random seed (default 0)")
    what.add_argument("--fail-fast", action="store_true", help="stop at the first failure; the report is partial")
    _add_comparison(parser.add_argument_group("what to compare"))
    report = parser.add_argument_group("report")
    options.add_format(report, FORMATS)
    options.add_output(report, "write the report to this file")
    options.add_all(report)
    report.add_argument("-q", "--quiet", action="store_true", help="print failures, stale entries and totals only")
    report.add_argument("--record", metavar="FILE", type=Path, help="also write the full report as JSON lines, as cases finish")
    report.add_argument(
        "--annotate",
        metavar="FILE[:LINE]",
        help="with --format github: the file of your repository at which failing cases are shown, in line 1 if none is given "
        "(default: the tested program)",
    )
    report.add_argument(
        "--dialogue",
        metavar="FILE",
        type=Path,
        help="record all requests and replies for --impl recorded:FILE; compressed if the name ends in .gz",
    )
    add_transports(parser.add_argument_group("real sockets and captures"))
    time = parser.add_argument_group("time and processes")
    options.add_jobs(time, "run N adapter processes in parallel")
    add_timeouts(time)
    time.add_argument(
        "--max-restarts", metavar="N", type=count, default=20, help="restart the implementation at most N times (default 20)"
    )
    add_bounds(time)
    parser.set_defaults(usual=parser.get_default)


def _add_comparison(group: options.Options) -> None:
    """Adds the options that say which differences make the run fail."""
    add = group.add_argument
    add(
        "--known-failing",
        metavar="FILE",
        type=Path,
        help="expected failures, one a line: id-or-pattern failure expiry link reason. Exactly the listed cases must fail, and "
        "as listed. For bugs that are fixed later, such as in continuous integration",
    )
    add(
        "--write-known-failing",
        metavar="FILE",
        type=Path,
        help="write such a list of all cases that fail now, and exit with 0. With --known-failing, the list is that one, without "
        "the cases that pass, with the lines of cases that fail otherwise replaced, and with what newly fails at its end. FILE "
        "must not exist, unless both name the same",
    )
    add(
        "--update-known-failing",
        action="store_true",
        help="only remove the cases that pass from the list of --known-failing. After a fix; what newly fails is not added",
    )
    options.add_strict(group)
    options.add_decisions(group)
    add(
        "--assume",
        metavar="FILE",
        type=Path,
        help="known differences, one a line as peerproof report groups prints them: cases continue after them. To find the "
        "failures that a known fault hides",
    )


def run(args: Namespace) -> int:
    """Runs the cases and writes the reports; returns the exit code."""
    refuse_unused(args, {name for name, value in vars(args).items() if name not in IGNORED and value != args.usual(name)})
    for path, what in ((args.output, "report"), (args.record, "report"), (args.dialogue, "dialogue")):
        if path and (why_not := output.unwritable(path)):
            raise Refusal(f"cannot write the {what}: {why_not}")
    if args.format == "html" and args.output is None and sys.stdout.isatty():
        raise Refusal("a page is not for a terminal", tip="add --output page.html")
    if args.dialogue and args.impl == f"recorded:{args.dialogue}":
        raise Refusal("--dialogue would overwrite the dialogue that is replayed: name another file")
    if args.pcap:
        from peerproof.cli.pcap import run_check

        return run_check(args)
    suite = options.suite(args)
    selected = apply_transports(args, options.select(select_cases, args, suite))
    options.note_models(args, (case.vector for case in selected))
    listed = _load_expected(args)
    _refuse_lists(args)
    assumed = _load_assumed(args)
    if not selected:
        raise Refusal("no case is selected", NOTHING, tip="peerproof vectors list shows what -k selects")
    with _dialogue(args) as dialogue:
        needed = {case.vector.protocol for case in selected}
        reach = running(args) if args.connect else make_reach(args, suite.version, dialogue=dialogue, protocols=needed)
        with refuse_unavailable():
            adapter = reach()
            hello = adapter.start()
            check_claims(hello)
        report = begin_report(hello, suite, selected, seed=args.seed, arguments=_arguments(args))
        report.problems = stale_entries(listed, suite, date.today(), args.slack)
        code = _Run(args, Session(report, selected, listed), assumed).run_cases(reach, adapter, hello)
    if args.update_known_failing or args.write_known_failing:
        return _write_list(args, report, suite, code)
    return code


@contextmanager
def _dialogue(args: Namespace) -> Iterator[DialogueFile | None]:
    """Opens the file of `--dialogue`, if given."""
    try:
        file = args.dialogue and DialogueFile(args.dialogue)
        try:
            yield file
        finally:
            if file:
                file.close()
    except output.CannotWrite as error:
        raise Refusal(f"the dialogue cannot be written: {error}", INTERRUPTED) from None


class _Run:
    """The growing report, and its output files."""

    def __init__(self, args: Namespace, session: Session, assumed: Assumptions | None) -> None:
        self.args = args
        self.assumed = assumed
        self.session = session
        self.report = session.report
        self.titles = {case.vector.id: case.vector.title for case in session.cases}
        self.growing: list[output.Growing] = []
        self.ticker = Ticker()
        self.kinds = {case.id: _kind(case) for case in session.cases}
        self.time_left = TimeLeft(self.kinds.values())
        self.wrong = 0
        session.on_result = self.take

    def run_cases(self, reach: Callable[[], Adapter], adapter: Adapter, hello: Hello) -> int:
        """Runs the cases and writes the results, however the run ends."""
        args, report = self.args, self.report
        settings = Settings(
            args.seed,
            args.jobs,
            args.max_restarts,
            args.strict,
            args.decisions,
            args.fail_fast,
            bounds(args),
            self.assumed.known if self.assumed else None,
        )
        with interruptible():  # a CI system ends slow jobs with SIGTERM
            try:
                with self.ticker:
                    self.open()
                    self.session.run(reach, adapter, hello, settings)
                    if self.assumed and not report.partial:
                        report.problems += self.assumed.problems()
                    if not (args.select or args.vectors or report.partial):
                        report.problems += unopened_nodes(self.session.cases, report.results)
            except output.CannotWrite as error:
                adapter.kill()
                self.session.interrupt(f"the report cannot be written: {error}")
                print_error(str(report.because))
            except KeyboardInterrupt:
                adapter.kill()
                self.session.interrupt(worker.INTERRUPTED)
            except Exception as error:
                report.because = f"internal error: {error!r}"
                self.finish()
                raise
        complete = self.finish()
        return EXIT_CODES[self.session.verdict] if complete else INTERRUPTED

    def open(self) -> None:
        """Opens the outputs that grow line by line."""
        paths = [self.args.output] if self.args.format == "jsonl" else []
        paths += [self.args.record] if self.args.record else []
        for path in paths:
            self.growing.append(output.Growing(path))
            self.growing[-1].write(self.report.header())

    def take(self, result: Result) -> None:
        """Adds a result."""
        if self.growing:
            self.write(result)
        else:
            self.report.results.append(result)
        self.wrong += STATUSES[result.status]
        if is_verbose():
            note(f"{result.outcome}  {result.id}")
        kind = self.kinds[result.id]
        self.time_left.skip(kind) if result.status == "skipped" else self.time_left.finish(kind)
        done, total = len(self.report.results), len(self.session.cases)
        self.ticker(f"{self.wrong} failed", done, total, "cases", self.time_left.text())

    def write(self, result: Result) -> None:
        """Adds a result to all reports; an interruption waits until it is there."""
        with output.Deferred() as interruption:
            self.report.results.append(result)
            line = case_line(result)
            for growing in self.growing:
                growing.write(line)
        if interruption.seen:
            raise KeyboardInterrupt

    def finish(self) -> bool:
        """Writes the end of the reports. Returns False if it was interrupted or a report could not be written."""
        report = self.report
        self.session.sort()
        with output.Deferred() as interruption:
            complete = self._footers()
            if self.args.format != "jsonl":
                complete = self._whole() and complete
            if interruption.seen and not report.partial:
                report.because = "interrupted while the report was written"
                if self.args.format != "jsonl":
                    self._whole()
        return complete and not interruption.seen

    def _footers(self) -> bool:
        complete = True
        for growing in self.growing:
            try:
                growing.write(self.report.footer())
                growing.close()
            except output.CannotWrite as error:
                print_error(f"the report is partial: {error}")
                complete = False
        return complete

    def _whole(self) -> bool:
        from peerproof.conformance.report.renderings import renderer
        from peerproof.conformance.report.summary import summary

        report, path, form = self.report, self.args.output, self.args.format
        render = renderer(form, every=self.args.all, brief=self.args.quiet)
        try:
            output.write_whole(path, render(report, self.titles))
        except output.CannotWrite as error:
            report.because = report.because or f"the report cannot be written: {error}"
            print_error(f"the report cannot be written: {error}")
            if path is not None:
                note("the report, marked partial, goes to standard output")
                try:
                    output.write_whole(None, render(report, self.titles))
                except output.CannotWrite:
                    print("\n".join(summary(report)), file=sys.stderr)
            else:
                print("\n".join(summary(report)), file=sys.stderr)
            return False
        if path is not None:
            print("\n".join(list(summary(report))[-1 - report.partial :]), file=sys.stderr)
        return True


def _kind(case: Case) -> str:
    """Returns the kind of a case, by which its time is estimated: its transport, and what it shares a pack with, or its part."""
    return f"{case.over.transport if case.over else 'virtual'} {case.pack or case.part}"


def _load_assumed(args: Namespace) -> Assumptions | None:
    if args.assume is None:
        return None
    from peerproof.conformance.report.assumptions import UnreadableAssumptions, load_assumptions

    with refuse(UnreadableAssumptions):
        return load_assumptions(args.assume)


def _load_expected(args: Namespace) -> expected_failures.ExpectedFailures:
    if args.known_failing is None:
        return expected_failures.ExpectedFailures("", ())
    with refuse(expected_failures.ListError):
        listed = expected_failures.load_expected_failures(args.known_failing)
    return replace(listed, is_updated=args.update_known_failing or args.write_known_failing is not None)


def _refuse_lists(args: Namespace) -> None:
    """Refuses options about the list of expected failures that do not fit together, and a list that would be overwritten."""
    written = args.write_known_failing
    if args.update_known_failing and args.known_failing is None:
        raise Refusal("--update-known-failing needs the list: add --known-failing FILE")
    if written is None:
        return
    if args.update_known_failing:
        raise Refusal("--write-known-failing removes what passes, too: leave out --update-known-failing")
    if written.exists() and not (args.known_failing and written.samefile(args.known_failing)):
        tip = f"--known-failing {written} --write-known-failing {written} adds what newly fails, and removes what passes"
        raise Refusal(f"{written} exists, and may hold reasons and dates that would be lost", tip=tip)
    if why_not := output.unwritable(written):
        raise Refusal(f"cannot write the list of expected failures: {why_not}")


def _write_list(args: Namespace, report: Report, suite: Suite, code: int) -> int:
    """Writes or updates the list of expected failures after a run that ended with this exit code; returns the new one."""
    path, read = args.write_known_failing or args.known_failing, args.known_failing
    if report.partial or code not in (OK, FAILED):
        note(f"{path} is unchanged: not every case was run")
        return code
    try:
        text, done = "", list[str]()
        failing = list_failing(report) if args.write_known_failing else []
        if read:
            text, passed, replaced = expected_failures.rewrite(
                read, report.results, case_ids(suite, args.slack), failing if args.write_known_failing else None
            )
            failing = [entry for entry in failing if entry[0] not in replaced]
            done += [f"{count_text(len(passed), 'case')} removed, which passed"] * bool(passed)
            done += [f"{count_text(len(replaced), 'line')} replaced, whose cases fail otherwise now"] * bool(replaced)
        if args.write_known_failing:
            code = FAILED if report.problems else OK
            text = text or expected_failures.render_heading(report.implementation["name"])
            text += expected_failures.render_entries(failing)
            how = "added" if read else "written"
            expects = f"; --known-failing {path} expects that they fail"
            done += [f"{count_text(len(failing), 'case')} {how}{expects}"] * bool(failing or not read)
        output.write_whole(path, text)
    except (expected_failures.ListError, output.CannotWrite) as error:
        print_error(f"the list of expected failures cannot be written: {error}")
        return INTERRUPTED
    note(f"{path}: {'; '.join(done) or 'it lists what fails, nothing is to change'}")
    return code


def _arguments(args: Namespace) -> dict[str, Any]:
    """Returns the options that repeat the run, without defaults."""
    shown = {
        "impl": args.impl,
        "select": args.select,
        "protocol": args.protocol,
        "seed": args.seed if args.seed != "0" else None,
        "vectors": str(args.vectors) if args.vectors else None,
        "strict": args.strict,
        "decisions": args.decisions if args.decisions != "report" else None,
        "transport": ",".join(args.transport) if args.transport != ("virtual",) else None,
        "connect": args.connect,
        "slack": args.slack if args.slack != SLACK else None,
        "known-failing": str(args.known_failing) if args.known_failing else None,
        "assume": str(args.assume) if args.assume else None,
        "annotate": args.annotate,
    }
    return {name: value for name, value in {**shown, **limits_as_arguments(args)}.items() if value}
