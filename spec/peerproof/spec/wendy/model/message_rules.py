"""What must hold of one node's messages alone; `monitors` says when it does not. [WI-02, WI-04, WI-08, WI-11…WI-13]"""

from __future__ import annotations

from typing import Final

from peerproof.spec.traces.observed import Rule, rules_in

ONE_SENDER: Final = Rule("OneSender", "a node always says the same of itself", ("WA-52", "WA-53"))
OWN_KEY: Final = Rule("OwnKey", "a message between nodes has the key that it should", ("W-47", "WA-57"))
TO_OTHERS: Final = Rule("ToOthers", "nobody sends to itself", ("WA-15", "WA-52"))
VERSIONS: Final = Rule("VersionsGrow", "versions of a node's tables never decrease, unless it restarts", ("WA-39", "WI-08"))
SAME_TABLE: Final = Rule("VersionsNameTables", "a table of one version has the same nodes", ("WA-39", "WA-42", "WI-08"))
SELF_FREE: Final = Rule("SelfFree", "no node is in its own tables", ("WA-15", "WI-02"))
RIGHT_CELL: Final = Rule("RightCell", "who stands in a cell of the routing table fits into it", ("W-15", "W-16", "WI-04"))
LEAVES: Final = Rule("LeavesInOrder", "leaves stand on their side, the nearest first", ("W-24", "W-29", "WA-03", "WA-51"))
ONCE: Final = Rule("NobodyTwice", "nobody stands twice in an array of the leaf set, or the neighborhood set", ("W-32", "WI-03"))
MARK: Final = Rule("MarkWithLeafSet", "the destination of a join sends its leaf set with its mark", ("W-50", "WA-61"))
ASKED: Final = Rule("DataIsAsked", "tables are sent to who has asked, and those that are due", ("W-48", "W-49", "W-50", "WA-57"))
JOIN: Final = Rule("JoinAnswered", "who receives a join sends its routing table to the joiner", ("W-48", "WI-11"))
HOPS: Final = Rule("HopsCounted", "a message that is passed on has one hop more", ("WA-56",))
REPAIR: Final = Rule(
    "RepairOfOne", "a repair asks for one table, of the routing table for one cell", ("W-19", "W-30", "W-36", "WA-27")
)
WAIT: Final = Rule("AnnouncedInTime", "a joiner announces itself when its wait is over", ("W-58", "WA-37", "WA-61", "WI-12"))
WHOLE: Final = Rule("AnnouncesTables", "an announcement has all three tables", ("W-60",))
KNOWN: Final = Rule("VersionsWereTold", "an announcement has versions that the receiver has told", ("W-61", "W-63", "WA-40"))
AGAIN: Final = Rule("AnnouncedAgain", "announcements are repeated after a race warning only", ("W-65", "WA-44", "WA-67"))
RACE: Final = Rule(
    "RaceOfNewer", "a race warning goes to who has announced itself, and has what is newer", ("W-64", "WA-41", "WA-42")
)
WARNED: Final = Rule("RaceIsTold", "who announces itself with old versions is warned", ("W-64", "WA-41", "WI-13"))
GONE: Final = Rule("QuietAfterLeaving", "who has left says nothing more", ("WA-62",))

#: All of them.
RULES: Final = rules_in(globals())
