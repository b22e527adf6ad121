"""Joining: who sends what to a joiner, when it announces itself, and what a race is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.core import Send, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.wendy import (
    Announce,
    Config,
    Heartbeat,
    Join,
    Joined,
    JoinFailed,
    NodeAnnouncement,
    NodeJoin,
    NodeJoined,
    NodeRace,
    Stage,
    State,
    StateData,
    Versions,
    initial,
)
from peerproof.spec.wendy.messages import MOST_HOPS, MOST_VERSION

from .nodes import (
    Cluster,
    asked,
    data,
    expired,
    h,
    header,
    leaves,
    name,
    node,
    notices,
    peer,
    place,
    received,
    sends,
    sent,
    settled,
    tables,
    timers,
)


def fresh(digits: str) -> State:
    """A node that has just started."""
    return initial(place(digits), Config(h(digits))).state


def join_of(joiner: str, hop: int = 0) -> NodeJoin:
    """A join that so many nodes have received before."""
    return NodeJoin(header(joiner, hop=hop))


def test_a_joiner_needs_the_address_of_one_member() -> None:
    """The key is its own id. [W-45, W-47]"""
    state, effects = asked(fresh("75"), Join(place("40")))

    assert state.stage is Stage.JOINING
    assert sends(effects) == [("40", NodeJoin(header("75")))]


def test_a_contact_that_is_alone_is_also_the_destination() -> None:
    """WC-40: one message with three empty tables, and then the joiner knows the contact. [W-48…W-50, WA-34, WA-40]"""
    contact, effects = received(fresh("40"), join_of("75"))

    answer = data("40", tables(rt="", ls=("", ""), ns=""), destination=True)
    assert sends(effects) == [("75", answer)]
    assert contact == fresh("40")
    joiner, _ = settled(received(asked(fresh("75"), Join(place("40"))).state, answer))
    assert joiner.routing_table == Table({(0, 4): peer("40")})
    assert leaves(joiner) == (["4"], [])
    assert joiner.neighborhood_set == (peer("40"),)


def test_contact_sends_its_neighborhood_set_and_the_destination_its_leaf_set() -> None:
    """WC-41, WC-47 without versions: nobody takes the joiner in yet. [W-48…W-50, WA-47]"""
    contact = node("40", right="70", cells="70")
    destination = node("70", left="40", cells="40")

    after, effects = received(contact, join_of("75"))
    assert sends(effects) == [
        ("75", data("40", tables(rt="70", ns="", owner="40"))),
        ("70", join_of("75", hop=1)),
    ]
    assert after == contact
    after, effects = received(destination, join_of("75", hop=1))
    assert sends(effects) == [("75", data("70", tables(rt="40", ls=("40", ""), owner="70"), destination=True))]
    assert after == destination


def test_nodes_on_the_way_send_their_routing_table() -> None:
    """WC-42, WC-61: each sees one hop more. [W-48, WA-56]"""
    first = node("10", cells="70", left="0f", right="11")
    second = node("70", cells="7550", left="6f", right="71")
    third = node("7550", left="70")

    got = []
    for hop, state in enumerate((first, second, third)):
        _, effects = received(state, join_of("7555", hop))
        got.append([(to, message) for to, message in sends(effects)])

    assert [[to for to, _ in one] for one in got] == [["7555", "70"], ["7555", "7550"], ["7555"]]
    assert [tuple(table is not None for table in one[0][1].tables) for one in got] == [
        (True, False, True),
        (True, False, False),
        (True, True, False),
    ]
    assert [one[0][1].destination for one in got] == [False, False, True]
    assert [one[1][1].header.hop for one in got[:2]] == [1, 2]


def test_the_whole_routing_table_is_sent() -> None:
    """WC-43. [W-48, WA-35]"""
    state = node("1200", cells="2 13 121 1201")

    _, effects = received(state, join_of("1f"))

    ((_, answer), *_) = sends(effects, StateData)
    assert [entry[:2] for entry in answer.tables.routing_table] == [(0, 2), (1, 3), (2, 1), (3, 1)]


def test_a_joiner_that_is_known_from_before_is_not_sent_its_own_join() -> None:
    """The destination is the closest of the others. [WA-36]"""
    state = node("70", left="40", right="75 80", cells="75 80 40")

    _, effects = received(state, join_of("75"))

    assert [to for to, _ in sends(effects)] == ["75"]
    assert sends(effects)[0][1].destination


def test_a_join_that_cannot_be_sent_on_goes_elsewhere() -> None:
    """The next node has gone; this one is the destination now, and has sent its routing table before. [WA-33]"""
    state, effects = received(node("40", right="70", cells="70"), join_of("75"))

    after, told = sent(state, effects[1], took=None)

    assert after.known == Table()
    ((to, answer),) = sends(told)
    assert (to, answer) == ("75", data("40", tables(ls=("", "")), versions=(1, 1, 0), destination=True))


def test_a_contact_that_cannot_be_reached_is_told_to_the_application() -> None:
    """It may try another one. [WA-59]"""
    state, effects = asked(fresh("75"), Join(place("40")))

    after, told = sent(state, effects[0], took=None)

    assert (after, notices(told)) == (fresh("75"), [JoinFailed(place("40"))])
    assert asked(after, Join(place("41"))).state.stage is Stage.JOINING


def test_a_node_joins_once() -> None:
    """But again, if nothing has come of a join that arrived. [WA-59]"""
    state, effects = asked(fresh("75"), Join(place("40")))

    with pytest.raises(NotEnabled, match="joins once"):
        asked(state, Join(place("41")))
    with pytest.raises(NotEnabled, match="joins once"):
        asked(node("75"), Join(place("41")))
    with pytest.raises(NotEnabled, match="by itself"):
        asked(fresh("75"), Join(place("75")))
    arrived, _ = sent(state, effects[0])
    assert asked(arrived, Join(place("41"))).state.stage is Stage.JOINING


def test_a_joiner_waits_twice_the_network_timeout_and_no_longer() -> None:
    """WC-44, WC-45: what comes meanwhile is applied; a second leaf set starts nothing. [W-58…W-60, WA-37]"""
    state = replace(fresh("75"), stage=Stage.JOINING)

    state, effects = settled(received(state, data("70", tables(rt="", ls=("40", "")), destination=True)))
    assert timers(effects) == [(Announce(), 20_000)]
    assert sends(effects, NodeAnnouncement) == []
    state, effects = settled(received(state, data("71", tables(ls=("", "")), destination=True)))
    assert timers(effects) == []
    state, _ = settled(received(state, data("40", tables(rt="10"))))
    state, effects = expired(state, Announce())

    announcements = sends(effects, NodeAnnouncement)
    assert [to for to, _ in announcements] == ["10", "40", "70", "71"]
    assert [name(entry.node) for entry in announcements[0][1].tables.routing_table] == ["1", "4", "7", "71"]
    assert notices(effects) == [Joined()]
    assert state.stage is Stage.JOINED
    assert expired(state, Announce()).effects == ()


def test_a_leaf_set_that_no_destination_sends_starts_no_wait() -> None:
    """[WA-61]"""
    state = replace(fresh("75"), stage=Stage.JOINING)

    after, effects = received(state, data("70", tables(ls=("40", ""))))

    assert after.stage is Stage.JOINING
    assert timers(effects) == []


def test_everybody_in_any_table_is_told_once() -> None:
    """WC-46. [W-60]"""
    state = replace(node("75", cells="a b", right="b c", near="c d"), stage=Stage.WAITING)

    assert [to for to, _ in sends(expired(state, Announce()).effects)] == ["a", "b", "c", "d"]


def test_an_announcement_has_the_versions_of_the_receiver_as_far_as_known() -> None:
    """WC-47. [W-61, WA-40]"""
    state = replace(node("75", right="b c", versions=Versions(9, 9, 9)), stage=Stage.WAITING)
    state = replace(state, stored=Table({h("b"): Versions(3, 2, 5)}))

    got = {to: message.header.versions for to, message in sends(expired(state, Announce()).effects)}

    assert got == {"b": (3, 2, 5), "c": (0, 0, 0)}


@pytest.mark.parametrize(
    ("own", "included", "is_race"),
    [
        pytest.param((3, 2, 5), (3, 2, 5), False, id="WC-48"),
        pytest.param((3, 3, 5), (3, 2, 5), True, id="WC-49"),
        pytest.param((3, 2, 5), (9, 9, 9), False, id="WC-50"),
        pytest.param((4, 0, 0), (3, 9, 9), True, id="the routing table alone"),
        pytest.param((0, 0, 6), (9, 9, 5), True, id="the neighborhood set alone"),
    ],
)
def test_an_announcement_that_misses_a_change_is_a_race(own: Versions, included: Versions, is_race: bool) -> None:
    """Then the announcer is warned and not taken in. [W-64, W-66, WA-41…WA-43]"""
    state = node("40", right="50", cells="50", versions=Versions(*own))
    announcement = NodeAnnouncement(header("75", versions=included), tables(rt="76", ls=("70", ""), owner="75"))

    after, effects = settled(received(state, announcement))

    warnings = sends(effects, NodeRace)
    if is_race:
        assert warnings == [("75", NodeRace(header("40", versions=own), tables("50", ("", "50"), "", owner="40")))]
        assert after == state
        assert notices(effects) == []
    else:
        assert warnings == []
        assert leaves(after)[1] == ["5", "7", "75", "76"]
        assert notices(effects) == [NodeJoined(peer("75"))]
        assert h("75") not in after.stored  # these versions are not its own


def test_a_warned_joiner_applies_the_state_and_tells_everybody_again() -> None:
    """WC-51. [W-65, WA-44]"""
    state = node("75", right="80", cells="80")

    after, effects = settled(received(state, NodeRace(header("80", versions=(1, 3, 1)), tables(ls=("78", "")))))

    assert leaves(after)[1] == ["78", "8"]
    assert after.stored[h("80")] == Versions(1, 3, 1)
    got = {to: message.header.versions for to, message in sends(effects, NodeAnnouncement)}
    assert got == {"78": (0, 0, 0), "80": (1, 3, 1)}


def test_who_has_not_announced_itself_does_not_do_so_because_of_a_warning() -> None:
    """[W-58, W-65]"""
    state = replace(node("75", right="80"), stage=Stage.WAITING)

    _, effects = received(state, NodeRace(header("80"), tables(ls=("78", ""))))

    assert sends(effects, NodeAnnouncement) == []


def test_several_warnings_lead_to_one_announcement_more() -> None:
    """It goes out when all of the last one have arrived, or will not arrive any more. [W-65, WA-67]"""
    waiting = replace(node("75", right="80 81 82"), stage=Stage.WAITING)
    state, effects = expired(waiting, Announce())
    first = [effect for effect in effects if isinstance(effect, Send)]

    for sender in ("80", "81"):
        state, effects = received(state, NodeRace(header(sender, versions=(1, 1, 1)), tables()))
        assert sends(effects, NodeAnnouncement) == []
    state, effects = sent(state, first[0])
    assert sends(effects) == []
    state, effects = sent(state, first[2], took=None)
    assert sends(effects, NodeAnnouncement) == []
    state, effects = sent(state, first[1])

    assert [(to, message.header.versions) for to, message in sends(effects)] == [("80", (1, 1, 1)), ("81", (1, 1, 1))]
    state, effects = settled(Step(state, effects))
    assert len(sends(effects)) == 2
    assert (state.announcing, state.is_warned) == (frozenset(), False)


def test_stored_versions_never_decrease() -> None:
    """Each by itself. [WA-45]"""
    state, _ = received(node("75", right="80"), data("80", tables(), versions=(5, 1, MOST_VERSION)))

    after, _ = received(state, data("80", tables(), versions=(4, 7, 0)))

    assert after.stored[h("80")] == Versions(5, 7, MOST_VERSION)


def test_hops_are_counted_up_to_a_bound() -> None:
    """[WA-56]"""
    _, effects = received(node("40", right="70", cells="70"), join_of("75", hop=MOST_HOPS))

    assert sends(effects, NodeJoin)[0][1].header.hop == MOST_HOPS


def test_two_that_join_at_once_learn_of_each_other() -> None:
    """Both know the first node only; whoever announces itself second is warned. [W-64, W-65]"""
    cluster = Cluster(fresh("0"), fresh("2"), fresh("4"))
    for joiner in ("2", "4"):
        cluster.ask(joiner, Join(place("0")))
    assert [leaves(cluster.nodes[place(one)]) for one in ("2", "4")] == [(["0"], []), (["0"], [])]

    for joiner in ("2", "4"):
        cluster.expire(joiner, Announce())

    assert {who: set(map(name, state.known)) for who, state in cluster.nodes.items()} == {
        place("0"): {"2", "4"},
        place("2"): {"0", "4"},
        place("4"): {"0", "2"},
    }
    assert ("4", Joined()) in cluster.notices
    assert ("2", NodeJoined(peer("4"))) in cluster.notices


def test_a_node_that_speaks_with_the_own_id_changes_nothing() -> None:
    """A second node with one id is the same node. [WA-50]"""
    state = node("40", right="50", cells="50")

    for message in (
        data("40", tables()),
        NodeAnnouncement(header("40"), tables()),
        NodeRace(replace(header("40"), sender=peer("40")._replace(port=9)), tables()),
    ):
        after, effects = received(state, message)
        assert (after.known, after.measured, after.stored) == (state.known, Table(), Table())
        assert sends(effects, Heartbeat) == []
