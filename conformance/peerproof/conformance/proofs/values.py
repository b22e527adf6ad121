"""
What the terms of a counterexample are: values of the specification, made from Z3's model.

A node is a number on terms, and a name here; the names have the order of the numbers. A table of any number of rows gets the rows
that code, or a claim, has looked at. What the code of the specification makes of these values becomes terms again, for claims.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import zip_longest
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Answers, Call, Path, Refutation, Term
from peerproof.conformance.proofs.terms import Number, term_of
from peerproof.spec.core import Table

#: Makes a value of a table on terms; its second argument is the type that is expected.
OfTable = Callable[[Any, Any], Any]


@dataclasses.dataclass(frozen=True)
class WholeStep:
    """A step of a node that may go through a function that was shown by itself."""

    step: Callable[..., Any]
    state: Any
    event: Any
    part: Callable[[Any], Any]  #: what the function would return, by what the step returns


class NoValue(Exception):
    """What is on terms has no counterpart among the values of the specification; the message says why."""


class Values:
    """The values of one counterexample. Each protocol has a subclass that knows its tables and its names."""

    #: The type of numbers that stand where no type is known.
    node_type: str = ""

    path: Path  #: the path that is replayed

    def __init__(self, refutation: Refutation) -> None:
        self.model: Final = refutation.model
        self.refutation: Final = refutation
        self._ranks: dict[int, int] = {}
        self._is_ranked = False
        self._numbers: dict[str, int] = {}  #: by the names that were given
        self.defined: set[tuple[str, ...]] = set()  #: what the cluster has by definition, and not by the model
        self._terms: dict[str, Term] = {}  #: by the texts that stand for terms of other sorts
        self.begin()
        for call in refutation.calls:  # the first time, only to see all nodes
            self.arguments(call)
        self._ranks = {number: rank for rank, number in enumerate(sorted(self._ranks), 1)}
        self._is_ranked = True

    # -- what a protocol says ---------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Prepares the protocol's own tables of values."""

    def tables(self) -> Mapping[type[Any], OfTable]:
        """Returns how the protocol's tables on terms become values."""
        return {}

    def scalars(self) -> Mapping[str, Callable[[int], Any]]:
        """Returns how a number becomes a value of a named type."""
        return {}

    def lifted_state(self, after: Any, before: Any, own: Any) -> Any:
        """Returns a state as terms: what has not changed is what it was on terms."""
        changed = {
            field.name: self.lifted_field(field.name, getattr(after, field.name), getattr(before, field.name), own)
            for field in dataclasses.fields(after)
            if getattr(after, field.name) != getattr(before, field.name)
        }
        return dataclasses.replace(own, **changed)

    def share(self, looked_at: tuple[Any, ...], own: tuple[Any, ...]) -> None:
        """Gives the arguments of a replayed call on terms what code, or a claim, has seen in them before."""

    def lifted_field(self, name: str, after: Any, before: Any, own: Any) -> Any:  # noqa: ARG002  # subclasses need them
        """Returns a field of a state that has changed, as terms."""
        kind: Any = type(own)
        return self.lifted(after, hints_of(kind).get(name))

    @staticmethod
    def plain_config(spec: Any, config: Any) -> dict[str, Any]:
        """Returns the plain data of a configuration, without what is usual."""
        plain = spec.CONFIG.plain(config)
        usual = {field.name for field in dataclasses.fields(config) if getattr(config, field.name) == field.default}
        return {name: value for name, value in plain.items() if name not in usual}

    @staticmethod
    def plain_state(spec: Any, state: Any) -> Any:
        """Returns the plain data of a state."""
        return spec.STATE.plain(state)

    def names(self) -> dict[str, str]:
        """Returns short names of nodes, by the long ids that stand for them."""
        return {}

    #: The functions that stand for what a node cannot see: the types of their arguments, and of what they return.
    cluster: Mapping[str, tuple[str, ...]] = {}

    def known_of_cluster(self) -> Iterator[tuple[str, Any]]:
        """Yields what the rest of the cluster has, as far as the model says it, in words, with its value."""
        for function, entries in self.model.functions():
            kinds = self.cluster.get(function.name)
            if kinds is None:
                continue
            of_each_node = len(function.arguments) == 1 and kinds[0]
            for arguments in [[smt.IntVal(number)] for number in self._ranks] if of_each_node else entries:
                texts = [self._shown(term, kind) for term, kind in zip(arguments, kinds, strict=False)]
                value = self.model.eval(function(*arguments))
                yield f"{function.name} {', '.join(map(str, texts))}", self._shown(value, kinds[-1])

    def _shown(self, term: Term, kind: str) -> Any:
        of_name = self.scalars().get(kind)
        if smt.is_int(term) and of_name and self.number(term) in self._ranks:
            found = of_name(self.number(term))
            text = f"{found:032x}" if isinstance(found, int) else found
            return self.names().get(text, text)
        return self._scalar(term, None)

    # -- terms to values --------------------------------------------------------------------------------------------

    def number(self, term: Any) -> int:
        """Returns the value of an integer."""
        found = self.model.eval(term_of(term))
        return found.as_long()

    def truth(self, formula: Any) -> bool:
        """Returns whether a formula is true in the model."""
        if isinstance(formula, bool):
            return formula
        return self.model.holds(formula)

    def holds(self, formula: Any, instance: Mapping[str, int]) -> bool:
        """Returns whether a formula is true in the model, with other values of some symbols."""
        if isinstance(formula, bool):
            return formula
        values = {smt.Int(name): smt.IntVal(value) for name, value in instance.items()}
        names = {name for name, *_ in self.defined}

        def change(part: smt.Term) -> smt.Term | None:
            if part.op != "app":
                return None
            is_defined = part.function.name in names and self._application(smt.rebuild(part, values.get)) in self.defined
            return smt.BoolVal(val=True) if is_defined else values.get(part)

        return self.truth(smt.rebuild(formula, change) if values or names else formula)

    def define(self, truth: Term) -> None:
        """Lets a function of the cluster be true for some arguments."""
        self.defined.add(self._application(truth))

    def _application(self, term: Term) -> tuple[str, ...]:
        """Returns the name of a function and the values of its arguments."""
        return (term.function.name, *(str(self.model.eval(part)) for part in term.args))

    def instances(self) -> Iterator[Mapping[str, int]]:
        """Yields other values of the symbols that stand for all values, such as any node: those of the counterexample."""
        yield from ()

    def whole_steps(self, arguments: tuple[Any, ...]) -> Iterator[WholeStep]:  # noqa: ARG002  # subclasses use them
        """Yields steps that may go through a function of the specification with these arguments, which is not `step`."""
        yield from ()

    def rank(self, number: int) -> int:
        """Returns the place of a node among all of the counterexample, from 1, in the order of their numbers."""
        if number not in self._ranks:
            self._ranks[number] = len(self._ranks) + 1
        return self._ranks[number]

    def named(self, number: int, name: Callable[[int], str]) -> str:
        """Returns the name of a node, by its rank, and remembers whose it is."""
        found = name(self.rank(number))
        if self._is_ranked:
            self._numbers[found] = number
        return found

    def text(self, term: Term) -> str:
        """Returns a text that stands for a term of a sort of which nothing is known, such as a key: `key 1`."""
        found = self.model.eval(term)
        sort = str(found.sort).lower()
        for text, known in self._terms.items():
            if known is found:
                return text
        count = sum(text.startswith(f"{sort} ") for text in self._terms)
        self._terms[f"{sort} {count + 1}"] = found
        return f"{sort} {count + 1}"

    def value(self, thing: Any, hint: Any = None) -> Any:
        """Returns what something on terms is, where a value of a type is expected."""
        for kind, of_table in self.tables().items():
            if isinstance(thing, kind):
                return of_table(thing, hint)
        if isinstance(thing, Answers):
            return self._answering(thing)
        if isinstance(thing, Number) or smt.is_expr(thing):
            return self._scalar(term_of(thing), hint, self.node_type if isinstance(thing, Number) else "")
        if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
            hints = hints_of(type(thing))
            return type(thing)(
                **{
                    field.name: self.value(getattr(thing, field.name), hints.get(field.name))
                    for field in dataclasses.fields(thing)
                }
            )
        if isinstance(thing, tuple) and hasattr(thing, "_fields"):
            hints = hints_of(type(thing))
            return type(thing)(*(self.value(part, hints.get(name)) for name, part in zip(thing._fields, thing, strict=True)))
        if isinstance(thing, (tuple, list, frozenset, set)):
            return type(thing)(self.value(part, hint) for part, hint in zip(thing, _parts(hint, len(thing)), strict=True))
        if isinstance(thing, Table):
            of_key, of_row = _of_table(hint)
            return Table({self.value(key, of_key): self.value(row, of_row) for key, row in thing.items()})
        return thing

    def _scalar(self, term: Term, hint: Any, otherwise: str = "") -> Any:
        if smt.is_bool(term):
            return self.truth(term)
        if smt.is_int(term):
            of_name = self.scalars().get(otherwise if hint in (None, Any) else _name(hint))
            return of_name(self.number(term)) if of_name else self.number(term)
        return self.text(term)

    def arguments(self, call: Call) -> tuple[Any, ...]:
        """Returns the arguments of a call."""
        hints = hints_of(call.function)
        code = getattr(call.function, "__code__", None)
        names = code.co_varnames[: code.co_argcount] if code else ()
        pairs = zip_longest(call.arguments, names[: len(call.arguments)])
        return tuple(self.value(argument, hints.get(name)) for argument, name in pairs)

    def _answering(self, answers: Answers) -> Callable[..., Any]:
        """Returns a function that answers as on terms, where it was asked the same; else with the first of the options."""
        given = [(tuple(self.value(part) for part in asked), self.value(answer)) for asked, answer in answers.given]
        return self.answering(given)

    def answering(self, given: list[tuple[tuple[Any, ...], Any]]) -> Callable[..., Any]:
        """Returns a choice of the protocol, by what was asked on terms, and the answers."""
        left = [*given]

        def pick(why: str, among: Any, some: int = 1) -> tuple[Any, ...]:
            options = sorted(among)
            answer: list[Any] = []
            for entry in left:
                if entry[0][0] == why:
                    left.remove(entry)
                    answer = [one for one in dict.fromkeys(entry[1]) if one in options]
                    break
            answer += [one for one in options if one not in answer]
            return tuple(answer[: min(some, len(options))])

        return pick

    # -- values to terms --------------------------------------------------------------------------------------------

    def lifted_number(self, number: int) -> Any:
        """Returns a number as a term."""
        return smt.IntVal(number)

    def lifted_node(self, number: int) -> Any:
        """Returns a node as a term."""
        return Number(smt.IntVal(number))

    def lifted_config(self, config: Any) -> Any:
        """Returns a configuration as terms; claims need nothing of it unless a protocol says so."""
        return config

    def lifted(self, value: Any, hint: Any = None) -> Any:
        """Returns a value of a type as terms."""
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, str):
            if value in self._numbers:
                return self.lifted_node(self._numbers[value])
            return self._terms.get(value, value)
        if isinstance(value, int):
            return self.lifted_number(value)
        if type(value).__name__ == "Config":
            return self.lifted_config(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            hints = hints_of(type(value))
            parts = {
                field.name: self.lifted(getattr(value, field.name), hints.get(field.name)) for field in dataclasses.fields(value)
            }
            return type(value)(**parts)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            hints = hints_of(type(value))
            return type(value)(*(self.lifted(part, hints.get(name)) for name, part in zip(value._fields, value, strict=True)))
        if isinstance(value, (tuple, list)):
            return type(value)(self.lifted(part, of) for part, of in zip(value, _parts(hint, len(value)), strict=True))
        return value

    def result(self, result: Any, real: tuple[Any, ...], own: tuple[Any, ...]) -> Any:
        """Returns as terms what a call has returned; `own` are its arguments on terms."""
        states = [(before, term) for before, term in zip(real, own, strict=True) if self.is_state(before)]
        if self.is_state(result) and states:
            return self.lifted_state(result, *states[0])
        if isinstance(result, tuple) and states and any(map(self.is_state, result)):
            parts = [self.lifted_state(part, *states[0]) if self.is_state(part) else self.lifted(part) for part in result]
            return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
        return self.lifted(result)

    def is_state(self, value: Any) -> bool:
        """Whether this is a state of a node."""
        return type(value).__name__ == "State"


@cache
def hints_of(kind: Any) -> Mapping[str, Any]:
    """Returns the types of the fields of a class, or of the arguments of a function; none where they cannot be known."""
    try:
        return get_type_hints(kind)
    except (AttributeError, NameError, TypeError):
        return {}


def _bare(hint: Any) -> Any:
    """Returns a type without the None that it may be."""
    others = [one for one in get_args(hint) if one is not type(None)]
    is_optional = get_origin(hint) is Union or type(hint).__name__ == "UnionType"
    return others[0] if is_optional and len(others) == 1 else hint


def _name(hint: Any) -> str:
    return str(getattr(_bare(hint), "__name__", ""))


def _parts(hint: Any, count: int) -> list[Any]:
    """Returns the types of the items of a tuple, a list or a set."""
    found = [*get_args(_bare(hint))]
    if not found:
        return [None] * count
    return [found[0]] * count if len(found) != count or found[-1] is Ellipsis else found


def _of_table(hint: Any) -> tuple[Any, Any]:
    """Returns the types of the keys and rows of a table."""
    match get_args(_bare(hint)):
        case (key, row):
            return key, row
    return None, None
