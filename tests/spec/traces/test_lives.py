"""What can be explained by a beginning from nothing, and that it takes no more memory the longer it is looked at."""

from __future__ import annotations

from peerproof.spec.traces.lives import EXCUSES, NUMBERS, SPANS, Lives


def test_what_came_after_the_beginning_may_be_known() -> None:
    lives = Lives[str, str]()
    lives.receive("c", 7)
    assert lives.send([("c", 7)]) == []
    lives.receive("c", 7)
    assert lives.send([]) == []

    assert lives.excuse(1, "an own number is lower")
    assert lives.send([("c", 7)]) == []
    assert lives.count == 2


def test_a_message_of_before_the_beginning_allows_no_beginning_before_it() -> None:
    lives = Lives[str, str]()
    lives.receive("c", 7)
    for _ in range(3):
        assert lives.send([("c", 7)]) == []

    assert lives.excuse(1, "what the second message shows is not told again") is False
    assert lives.count == 1


def test_two_restarts_are_two_lives() -> None:
    lives = Lives[str, str]()
    for number in range(1, 4):
        assert lives.send([]) == []
        assert number == 1 or lives.excuse(number - 1, "lower")

    assert lives.count == 3


def test_a_number_that_is_forgotten_still_excuses() -> None:
    lives = Lives[str, str]()
    for number in range(NUMBERS + 1, 0, -1):
        lives.receive("c", number)
        assert lives.send([]) == []

    assert lives.excuse(1, "an own number is lower")
    assert lives.send([("c", NUMBERS)]) == []


def test_a_beginning_that_is_impossible_stays_so_however_many_messages_follow() -> None:
    lives = Lives[str, str]()
    for name in ("c", "d"):
        lives.receive(name, 7)
        assert lives.send([]) == []

    assert lives.send([("c", 7)]) == []  # no beginning after the first message is possible
    for _ in range(2 * SPANS):
        assert lives.send([]) == []
    assert lives.send([("d", 7)]) == []

    assert not lives.excuse(1, "what the first message shows is not told again")


def test_the_memory_is_bounded() -> None:
    lives = Lives[str, int]()
    for number in range(3 * SPANS):
        lives.receive("c", 10 * SPANS - number)
        lives.send([])
        lives.send([("c", 10 * SPANS - number)])
        lives.excuse(lives.sent - 1, number)

    assert len(lives._spans) <= SPANS
    assert len(lives._came["c"]) <= NUMBERS
    assert len(lives._excuses) <= EXCUSES
