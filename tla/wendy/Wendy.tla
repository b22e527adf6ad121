-------------------------------- MODULE Wendy --------------------------------
(***************************************************************************)
(* Wendy: nodes on a ring of ids that know few of the others, and pass     *)
(* messages on to nodes that are closer to their key.                      *)
(*                                                                         *)
(* A joiner gets its tables from the nodes that its join comes through,    *)
(* and announces itself to all of them. An announcement says which         *)
(* versions of the receiver's tables the announcer has seen; a receiver    *)
(* that has newer ones warns, and the joiner announces itself again. A     *)
(* node that goes is replaced by one that others have in its place.        *)
(*                                                                         *)
(* Written from the clauses in spec/wendy.md, whose numbers stand in       *)
(* brackets. There is no time: a timer that is set may run out whenever it *)
(* wants to. Every node has an address, and addresses never change.        *)
(* Messages arrive, unless their receiver does not run or has left;        *)
(* whether they did the sender learns in the same step.                    *)
(*                                                                         *)
(* A message is <<from, to, kind, origin, key, versions, hop, body>>; from *)
(* is the node that sends it on, and origin the sender in its header.      *)
(***************************************************************************)
EXTENDS Tables, TLC

CONSTANTS
    Node,           \* the ids of the nodes
    Neighborhood,   \* the most nodes in a neighborhood set [W-32]
    Start,          \* "alone": no node knows another; "stable": Founders are a cluster
    Founders,       \* the nodes that are a cluster from the start, if Start is "stable"
    Todo,           \* commands of applications, once each, in any order: texts such as "2 join 0", see CommandText
    Acquainted,     \* whether each cache has the scores of all nodes; otherwise none has any
    Score,          \* scores that are not 1: texts such as "0 2 5", from 0 to 2
    Flush,          \* whether caches may be emptied, at any moment [W-09]
    Heartbeats,     \* the nodes whose heartbeats may fall due, at any moment [WA-24]
    MaxNet,         \* the most different messages under way
    MaxVersion,     \* no step takes the version of a table beyond this
    MaxRestarts,    \* the most restarts of the nodes in Restarting, together
    Restarting      \* the nodes that may restart

VARIABLES
    stage,           \* "alone", "joining", "waiting" for stragglers, "joined", "left"
    rt,              \* the routing table: cells <<row, column, id>> [W-13]
    ls,              \* the leaf set: <<left, right>>, nearest first [W-23]
    ns,              \* the neighborhood set, the lowest score first [W-32]
    versions,        \* of the three tables, in this order [WA-39]
    scores,          \* of the nodes in the tables [W-05, WA-70]
    cache,           \* of any node [W-08]
    measured,        \* the nodes that are being measured [WA-69]
    stored,          \* versions of others' tables [W-63]
    departed,        \* the nodes that are believed to have gone [WA-30]
    repairs,         \* the cells that others are asked for: <<row, column, row asked, nodes that have not answered>> [WA-26]
    announcing,      \* the nodes to which the announcement is under way [WA-67]
    warned,          \* whether another announcement follows
    contact,         \* where the own join is under way to: <<id>>, or nothing [WA-59]
    up,              \* whether the node runs
    todo,            \* what the node's application will still ask for
    restarts,        \* how many restarts are left
    net              \* the messages under way

local == <<stage, rt, ls, ns, versions, scores, cache, measured, stored, departed, repairs, announcing, warned, contact>>

vars == <<local, up, todo, restarts, net>>

\* A configuration file of TLC has no tuples.
Text(n, name, argument) == ToString(n) \o " " \o name \o " " \o ToString(argument)

CommandSet == ({"join"} \X Node) \cup {<<"leave", 0>>, <<"crash", 0>>} \cup ({"route"} \X Id)

Commands(n) == {command \in CommandSet : Text(n, command[1], command[2]) \in Todo}

Took == [pair \in Node \X Node |->
    IF \E score \in 2..9 : Text(pair[1], ToString(pair[2]), score) \in Score
    THEN CHOOSE score \in 2..9 : Text(pair[1], ToString(pair[2]), score) \in Score
    ELSE 1]

ASSUME WendyAssumption ==
    /\ Node \subseteq Id
    /\ Neighborhood \in Nat \ {0}
    /\ Start \in {"alone", "stable"}
    /\ Founders \cup Restarting \cup Heartbeats \subseteq Node
    /\ {Acquainted, Flush} \subseteq BOOLEAN
    /\ {MaxNet, MaxVersion, MaxRestarts} \subseteq Nat
    /\ Todo = UNION {{Text(n, command[1], command[2]) : command \in Commands(n)} : n \in Node}
    /\ Cardinality(Score) = Cardinality({pair \in Node \X Node : Took[pair] # 1})

\* What a node has room for; every node of a model has the same. [W-23, W-32]
SideLimit(n) == LeafSide

NeighborhoodLimit(n) == Neighborhood

Max(a, b) == IF a > b THEN a ELSE b

Without(seq, id) == LET isOther(other) == other # id IN SelectSeq(seq, isOther)

Extended(function, id, value) == (id :> value) @@ function

Restricted(function, ids) == [id \in DOMAIN function \cap ids |-> function[id]]

-----------------------------------------------------------------------------
\* The state of one node, with what it sends on an event: `sent` in its own name, and `passed` on as it was.

RT == 1
LS == 2
NS == 3

Counted(state, table) == [state EXCEPT !.versions[table] = @ + 1]   \* [WA-39]

InTable(cells) == {cell[3] : cell \in cells}

Known(state) == InTable(state.rt) \cup Leaves(state.ls) \cup Range(state.ns)

\* The versions are those of the receiver's tables, which only an announcement keeps; see Messages. [W-61, WA-40]
SendWith(state, to, kind, key, body) ==
    LET theirs == IF to \in DOMAIN state.stored THEN state.stored[to] ELSE <<0, 0, 0>>
    IN  [state EXCEPT !.sent = @ \cup {<<state.id, to, kind, state.id, key, theirs, 0, body>>}]

Send(state, to, kind, body) == SendWith(state, to, kind, state.id, body)

RECURSIVE SendAll(_, _, _, _)
SendAll(state, ids, kind, body) ==
    IF ids = {} THEN state
    ELSE LET id == CHOOSE id \in ids : TRUE IN SendAll(Send(state, id, kind, body), ids \ {id}, kind, body)

-----------------------------------------------------------------------------
\* Inserting

\* With equal scores the node that is there stays. [W-18, WA-17]
InRoutingTable(state, id) ==
    LET cell == Cell(state.id, id)
        there == {other \in state.rt : other[1] = cell[1] /\ other[2] = cell[2]}
        isBetter == \A other \in there : other[3] # id /\ state.scores[id] < state.scores[other[3]]
    IN  IF isBetter THEN Counted([state EXCEPT !.rt = (@ \ there) \cup {cell}], RT) ELSE state

\* Before the first that is farther; a node that is there stays where it is. [W-26…W-28]
InSide(owner, side, id, isLeft) ==
    LET Away(other) == IF isLeft THEN Clockwise(other, owner) ELSE Clockwise(owner, other)
        away == Away(id)
        nearer == Cardinality({other \in Range(side) : AtMost(Away(other), away)})
    IN  IF id \in Range(side) THEN side
        ELSE First(SubSeq(side, 1, nearer) \o <<id>> \o SubSeq(side, nearer + 1, Len(side)), SideLimit(owner))

\* [W-25…W-28, WA-05]
InLeafSet(state, id) ==
    LET isRight == IsGreater(state.id, id)
        left == IF TwoSided \/ ~isRight THEN InSide(state.id, state.ls[1], id, TRUE) ELSE state.ls[1]
        right == IF TwoSided \/ isRight THEN InSide(state.id, state.ls[2], id, FALSE) ELSE state.ls[2]
        after == [state EXCEPT !.ls = <<left, right>>]
    IN  IF Leaves(after.ls) = Leaves(state.ls) THEN after ELSE Counted(after, LS)

\* Behind those that are not worse. [W-34, WA-22]
RECURSIVE Placed(_, _, _)
Placed(seq, id, ranks) ==
    IF seq = <<>> \/ ranks[id] < ranks[Head(seq)] THEN <<id>> \o seq
    ELSE <<Head(seq)>> \o Placed(Tail(seq), id, ranks)

InNeighborhoodSet(state, id) ==
    LET after == [state EXCEPT !.ns = First(Placed(@, id, state.scores), NeighborhoodLimit(state.id))]
    IN  IF id \in Range(state.ns) THEN state
        ELSE IF id \in Range(after.ns) THEN Counted(after, NS)
        ELSE state

\* In all three tables, with this score. [WA-69]
Tried(state, id, score) ==
    LET scored == [state EXCEPT !.scores = Extended(@, id, score)]
    IN  InNeighborhoodSet(InLeafSet(InRoutingTable(scored, id), id), id)

\* A new score of a node that is in tables. [WA-18, WA-22]
Refreshed(state, id, score) ==
    LET scored == [state EXCEPT !.scores = Extended(@, id, score)]
        isSame == id \in DOMAIN state.scores /\ state.scores[id] = score
    IN  IF isSame \/ id \notin Range(state.ns) THEN scored
        ELSE [scored EXCEPT !.ns = Placed(Without(@, id), id, scored.scores)]

\* A node is met in a message; its id alone may be enough for the leaf set. [WA-69]
Met(state, id, isLeaf) ==
    IF id = state.id \/ id \in state.departed THEN state
    ELSE IF id \in DOMAIN state.scores THEN Tried(state, id, state.scores[id])
    ELSE IF id \in DOMAIN state.cache THEN Tried(state, id, state.cache[id])   \* [WA-21]
    ELSE LET after == IF isLeaf THEN InLeafSet(state, id) ELSE state
         IN  IF id \in state.measured THEN after
             ELSE Send([after EXCEPT !.measured = @ \cup {id}], id, "heartbeat", <<>>)

RECURSIVE MetAll(_, _, _)
MetAll(state, ids, leaves) ==
    IF ids = <<>> THEN state ELSE MetAll(Met(state, Head(ids), Head(ids) \in leaves), Tail(ids), leaves)

RECURSIVE InOrder(_)
InOrder(cells) ==
    IF cells = {} THEN <<>> ELSE LET first == FirstCell(cells) IN <<first[3]>> \o InOrder(cells \ {first})

\* The sender of tables, and the nodes in them; a table that was not sent is <<>>. [WA-34, WA-60]
MetTables(state, sender, tables) ==
    LET inLeaves == IF tables[LS] = <<>> THEN <<>> ELSE tables[LS][1][1] \o tables[LS][1][2]
        inCells == IF tables[RT] = <<>> THEN <<>> ELSE InOrder(tables[RT][1])
        inNeighborhood == IF tables[NS] = <<>> THEN <<>> ELSE tables[NS][1]
    IN  MetAll(state, <<sender>> \o inLeaves \o inCells \o inNeighborhood, {sender} \cup Range(inLeaves))

\* [W-63, WA-45]
Stored(state, id, others) ==
    LET known == IF id \in DOMAIN state.stored THEN state.stored[id] ELSE <<0, 0, 0>>
    IN  [state EXCEPT !.stored = Extended(@, id, [table \in 1..3 |-> Max(known[table], others[table])])]

-----------------------------------------------------------------------------
\* Repairing

CellWanted(row, column) == <<TRUE, FALSE, FALSE, <<row>>, <<column>> >>
LeafSetWanted == <<FALSE, TRUE, FALSE, <<>>, <<>> >>
NeighborhoodSetWanted == <<FALSE, FALSE, TRUE, <<>>, <<>> >>

InRow(state, row) == {cell[3] : cell \in {cell \in state.rt : cell[1] = row}}

\* The nodes of the first row, from this one on, that has any, are asked for the cell. [W-19, W-21, W-22, WA-26, WA-27]
RECURSIVE Ask(_, _, _, _)
Ask(state, row, column, asked) ==
    IF asked >= Digits THEN state
    ELSE IF InRow(state, asked) = {} THEN Ask(state, row, column, asked + 1)
    ELSE SendAll([state EXCEPT !.repairs = @ \cup {<<row, column, asked, InRow(state, asked)>>}],
                 InRow(state, asked), "repair", CellWanted(row, column))

\* How a repair goes on. [WA-26]
GoesOn(state, repair) ==
    LET isHere(cell) == cell[1] = repair[1] /\ cell[2] = repair[2]
        without == [state EXCEPT !.repairs = @ \ {repair}]
        awaited == repair[4] \ state.departed
    IN  IF \E cell \in state.rt : isHere(cell) THEN without
        ELSE IF awaited # {} \/ \E id \in state.measured : isHere(Cell(state.id, id))
             THEN [without EXCEPT !.repairs = @ \cup {<<repair[1], repair[2], repair[3], awaited>>}]
        ELSE Ask(without, repair[1], repair[2], repair[3] + 1)

RECURSIVE GoOn(_, _)
GoOn(state, ongoing) ==
    IF ongoing = {} THEN state
    ELSE LET repair == FirstCell(ongoing) IN GoOn(GoesOn(state, repair), ongoing \ {repair})

\* Any routing table of a node that was asked is an answer. [WA-71]
Answered(state, ids) ==
    [state EXCEPT !.repairs = {<<repair[1], repair[2], repair[3], repair[4] \ ids>> : repair \in @}]

\* The furthest that is left on a side. [W-30, WA-28]
AskSide(state, before, side, id) ==
    IF id \notin Range(before.ls[side]) \/ state.ls[side] = <<>> THEN state
    ELSE SendWith(state, Last(state.ls[side]), "repair", id, LeafSetWanted)

\* A node that is not let in again until it announces itself. [WA-30]
Remembered(state, id) == [state EXCEPT !.departed = @ \cup {id}]

\* [WA-25]
Departed(state, id) ==
    LET cells == {cell \in state.rt : cell[3] = id}
        cell == Cell(state.id, id)
        without == [state EXCEPT
            !.rt = @ \ cells,
            !.ls = <<Without(@[1], id), Without(@[2], id)>>,
            !.ns = Without(@, id),
            !.versions = <<@[RT] + (IF cells # {} THEN 1 ELSE 0),
                           @[LS] + (IF id \in Leaves(state.ls) THEN 1 ELSE 0),
                           @[NS] + (IF id \in Range(state.ns) THEN 1 ELSE 0)>>,
            !.measured = @ \ {id}]
        gone == Remembered(without, id)
        cellAsked == IF cells # {} THEN Ask(gone, cell[1], cell[2], cell[1]) ELSE gone
        sidesAsked == AskSide(AskSide(cellAsked, state, 1, id), state, 2, id)
    IN  IF id \notin Known(state) THEN [state EXCEPT !.measured = @ \ {id}]
        ELSE IF id \in Range(state.ns)
             THEN SendAll(sidesAsked, Range(sidesAsked.ns), "repair", NeighborhoodSetWanted)   \* [W-36]
        ELSE sidesAsked

-----------------------------------------------------------------------------
\* Announcing

AllTables(state) == << <<state.rt>>, <<state.ls>>, <<state.ns>> >>

\* [W-60, W-61]
Announced(state) ==
    SendAll([state EXCEPT !.stage = "joined", !.announcing = Known(state), !.warned = FALSE],
            Known(state), "announce", AllTables(state))

\* The next announcement, when it is due. [WA-67]
Continued(state) ==
    IF state.warned /\ state.announcing = {} /\ state.stage = "joined" THEN Announced(state) ELSE state

\* [W-64, WA-41]
IsConflict(state, m) == \E table \in 1..3 : state.versions[table] > m[6][table]

\* What is done with an announcement that misses something. [WA-43]
OnConflict(state, m) == Send(state, m[4], "race", AllTables(state))

OnAnnouncement(state, m) ==
    LET believed == [state EXCEPT !.departed = @ \ {m[4]}]   \* [WA-30]
    IN  IF IsConflict(state, m) THEN OnConflict(believed, m)
        ELSE MetTables(believed, m[4], m[8])   \* [W-66]

\* [WA-67]
Warned(state) == IF state.stage = "joined" THEN Continued([state EXCEPT !.warned = TRUE]) ELSE state

\* [W-65]
OnRace(state, m) == Warned(MetTables(Stored(state, m[4], m[6]), m[4], m[8]))

-----------------------------------------------------------------------------
\* Messages that are routed

\* The message goes on, as it is.
Forwarded(state, to, m, hop) == [state EXCEPT !.passed = @ \cup {<<state.id, to, m[3], m[4], m[5], m[6], hop, m[8]>>}]

\* As if the joiner were in no table. [WA-36]
JoinHop(state, joiner) ==
    NextHop(state.id, {cell \in state.rt : cell[3] # joiner}, <<Without(state.ls[1], joiner), Without(state.ls[2], joiner)>>, joiner)

\* [W-48…W-50]
OnJoin(state, m) ==
    LET next == JoinHop(state, m[4])
        isDestination == next = state.id
        tables == << <<state.rt>>, IF isDestination THEN <<state.ls>> ELSE <<>>,
                     IF m[7] = 0 THEN <<state.ns>> ELSE <<>>, isDestination>>
        after == Send(state, m[4], "state", tables)
    IN  IF isDestination THEN after ELSE Forwarded(after, next, m, m[7] + 1)

\* A join that has not reached its next hop. [WA-33, WI-11]
JoinAgain(state, m) ==
    LET next == JoinHop(state, m[4])
    IN  IF next # state.id THEN Forwarded(state, next, m, m[7])
        ELSE Send(state, m[4], "state", << <<>>, <<state.ls>>, <<>>, TRUE>>)

\* An application's; its delivery leaves no trace. [W-43, WA-56]
Routed(state, m, hop) ==
    LET next == NextHop(state.id, state.rt, state.ls, m[5])
    IN  IF next = state.id THEN state ELSE Forwarded(state, next, m, hop)

-----------------------------------------------------------------------------
\* Everything that arrives

\* The destination has answered. [WA-37]
Waits(state, isDestination) ==
    IF isDestination /\ state.stage = "joining" THEN [state EXCEPT !.stage = "waiting"] ELSE state

\* [W-59, W-62, WA-61]
OnState(state, m) ==
    Waits(Answered(MetTables(Stored(state, m[4], m[6]), m[4], m[8]), IF m[8][RT] = <<>> THEN {} ELSE {m[4]}), m[8][4])

\* Of the routing table the rows that are named, if any are, and of these the columns that are, if any; of the others all. [WA-57]
OnRepair(state, m) ==
    LET wanted == m[8]
        isNamed(seq, number) == seq = <<>> \/ number \in Range(seq)
        cells == {cell \in state.rt :
            wanted[4] = <<>> \/ (cell[1] \in Range(wanted[4]) /\ isNamed(wanted[5], cell[2]))}
    IN  Send(state, m[4], "state", <<IF wanted[RT] THEN <<cells>> ELSE <<>>, IF wanted[LS] THEN <<state.ls>> ELSE <<>>,
                                     IF wanted[NS] THEN <<state.ns>> ELSE <<>>, FALSE>>)

Received(state, m) ==
    CASE m[3] = "join" -> OnJoin(state, m)
      [] m[3] = "exit" -> Departed(state, m[4])
      [] m[3] = "heartbeat" -> state
      [] m[3] = "state" -> OnState(state, m)
      [] m[3] = "repair" -> OnRepair(state, m)
      [] m[3] = "race" -> OnRace(state, m)
      [] m[3] = "announce" -> OnAnnouncement(state, m)
      [] m[3] = "application" -> Routed(state, m, m[7] + 1)

IsOwnJoin(state, m) == m[3] = "join" /\ m[4] = state.id

\* A message has arrived, or not: what follows from that, whichever it is.
Over(state, m) ==
    LET answered == IF IsOwnJoin(state, m) /\ state.contact = <<m[2]>> THEN [state EXCEPT !.contact = <<>>] ELSE state
    IN  IF m[3] = "announce" THEN [answered EXCEPT !.announcing = @ \ {m[2]}] ELSE answered

\* It took so long. [W-07, WA-18, WA-69]
Confirmed(state, m, score) ==
    LET to == m[2]
        cached == [Over(state, m) EXCEPT !.cache = Extended(@, to, score), !.measured = @ \ {to}]
    IN  Continued(IF to \in state.measured THEN Tried(Refreshed(cached, to, score), to, score)
                  ELSE IF to \in Known(state) THEN Refreshed(cached, to, score)
                  ELSE Over(state, m))

\* What becomes of a message whose next hop has gone: `after` is the state without it. [WA-33, WA-59]
GoesAnotherWay(state, after, m) ==
    CASE IsOwnJoin(state, m) ->
             IF state.contact = <<m[2]>> /\ state.stage = "joining" THEN [after EXCEPT !.stage = "alone"] ELSE after
      [] m[3] = "join" /\ ~IsOwnJoin(state, m) -> JoinAgain(after, m)
      [] m[3] = "application" -> Routed(after, m, m[7])
      [] OTHER -> after

\* [WA-24]
Failed(state, m) == Continued(GoesAnotherWay(state, Departed(Over(state, m), m[2]), m))

-----------------------------------------------------------------------------
\* Commands and timers

\* [WA-59, WA-62]
IsAllowed(state, command) ==
    CASE command[1] = "join" -> state.stage \in {"alone", "joining"} /\ state.contact = <<>> /\ command[2] # state.id
      [] OTHER -> state.stage # "left"

Obeyed(state, command) ==
    CASE command[1] = "join" -> Send([state EXCEPT !.stage = "joining", !.contact = <<command[2]>>], command[2], "join", <<>>)
      [] command[1] = "leave" -> SendAll([state EXCEPT !.stage = "left"], Known(state), "exit", <<>>)
      [] command[1] = "route" ->
             Routed(state, <<state.id, state.id, "application", state.id, command[2], state.versions, 0, <<>> >>, 0)
      [] command[1] = "crash" -> state

TimedOut(state, repair) ==
    [state EXCEPT !.repairs = (@ \ {repair}) \cup {<<repair[1], repair[2], repair[3], {}>>}]

-----------------------------------------------------------------------------
\* Actions

Local(n) ==
    [id |-> n, stage |-> stage[n], rt |-> rt[n], ls |-> ls[n], ns |-> ns[n], versions |-> versions[n], scores |-> scores[n],
     cache |-> cache[n], measured |-> measured[n], stored |-> stored[n], departed |-> departed[n], repairs |-> repairs[n],
     announcing |-> announcing[n], warned |-> warned[n], contact |-> contact[n], sent |-> {}, passed |-> {}]

\* The end of an event: repairs go on, and what is of no use any more is forgotten. [WA-70, WA-71]
Ended(state) ==
    LET after == GoOn(state, state.repairs)
    IN  IF after.stage = "left" THEN state
        ELSE [after EXCEPT !.scores = Restricted(@, Known(after)),
                           !.stored = Restricted(@, Known(after) \cup after.measured)]

\* The versions are those after the event. [W-62, WA-42]
Messages(state) ==
    {[m EXCEPT ![6] = IF m[3] = "announce" THEN @ ELSE state.versions] : m \in state.sent} \cup state.passed

IsBounded(state) == \A table \in 1..3 : state.versions[table] <= MaxVersion

\* The nodes of these states, which differ, take these, and what they send is under way, and m no more. A choice of one out of
\* one is a value that TLC finds once, also where it asks whether an action is enabled.
Become(states, m) ==
    \E after \in {states} :
    \E messages \in {(net \ m) \cup UNION {Messages(state) : state \in after}} :
    \E now \in {[n \in Node |->
            IF \E state \in after : state.id = n THEN CHOOSE state \in after : state.id = n ELSE Local(n)]} :
        /\ \A state \in after : IsBounded(state)
        /\ Cardinality(messages) <= MaxNet
        /\ net' = messages
        /\ stage' = [n \in Node |-> now[n].stage]
        /\ rt' = [n \in Node |-> now[n].rt]
        /\ ls' = [n \in Node |-> now[n].ls]
        /\ ns' = [n \in Node |-> now[n].ns]
        /\ versions' = [n \in Node |-> now[n].versions]
        /\ scores' = [n \in Node |-> now[n].scores]
        /\ cache' = [n \in Node |-> now[n].cache]
        /\ measured' = [n \in Node |-> now[n].measured]
        /\ stored' = [n \in Node |-> now[n].stored]
        /\ departed' = [n \in Node |-> now[n].departed]
        /\ repairs' = [n \in Node |-> now[n].repairs]
        /\ announcing' = [n \in Node |-> now[n].announcing]
        /\ warned' = [n \in Node |-> now[n].warned]
        /\ contact' = [n \in Node |-> now[n].contact]

Runs(n) == up[n] /\ stage[n] # "left"

\* A node as it starts: it has met no other node yet. [W-08]
Fresh(n) ==
    [id |-> n, stage |-> "alone", rt |-> {}, ls |-> << <<>>, <<>> >>, ns |-> <<>>, versions |-> <<0, 0, 0>>, scores |-> <<>>,
     cache |-> <<>>, measured |-> {}, stored |-> <<>>, departed |-> {}, repairs |-> {}, announcing |-> {},
     warned |-> FALSE, contact |-> <<>>, sent |-> {}, passed |-> {}]

RECURSIVE Inserted(_, _)
Inserted(state, ids) ==
    IF ids = <<>> THEN state ELSE Inserted(Tried(state, Head(ids), Took[<<state.id, Head(ids)>>]), Tail(ids))

\* A node that has joined, and knows all founders that it has room for.
Settled(n) ==
    LET others == Founders \ {n}
    IN  Ended(Inserted([Fresh(n) EXCEPT !.stage = "joined"], Sorted(others, [m \in others |-> m])))

FirstCache(n) == IF Acquainted THEN [m \in Node \ {n} |-> Took[<<n, m>>]] ELSE <<>>

AtFirst(n) == [(IF Start = "stable" /\ n \in Founders THEN Settled(n) ELSE Fresh(n)) EXCEPT !.cache = FirstCache(n)]

Init ==
    LET state == [n \in Node |-> AtFirst(n)] IN
    /\ stage = [n \in Node |-> state[n].stage]
    /\ rt = [n \in Node |-> state[n].rt]
    /\ ls = [n \in Node |-> state[n].ls]
    /\ ns = [n \in Node |-> state[n].ns]
    /\ versions = [n \in Node |-> state[n].versions]
    /\ scores = [n \in Node |-> state[n].scores]
    /\ cache = [n \in Node |-> state[n].cache]
    /\ measured = [n \in Node |-> state[n].measured]
    /\ stored = [n \in Node |-> state[n].stored]
    /\ departed = [n \in Node |-> state[n].departed]
    /\ repairs = [n \in Node |-> state[n].repairs]
    /\ announcing = [n \in Node |-> state[n].announcing]
    /\ warned = [n \in Node |-> state[n].warned]
    /\ contact = [n \in Node |-> state[n].contact]
    /\ up = [n \in Node |-> TRUE]
    /\ todo = [n \in Node |-> Commands(n)]
    /\ restarts = MaxRestarts
    /\ net = {}

Command(n) ==
    /\ up[n]
    /\ \E command \in todo[n] :
        /\ IsAllowed(Local(n), command)
        /\ Become({Ended(Obeyed(Local(n), command))}, {})
        /\ up' = [up EXCEPT ![n] = command[1] # "crash"]
        /\ todo' = [todo EXCEPT ![n] = @ \ {command}]
        /\ UNCHANGED restarts

\* [W-58, W-60]
Announce(n) ==
    /\ up[n]
    /\ stage[n] = "waiting"
    /\ Become({Ended(Announced(Local(n)))}, {})
    /\ UNCHANGED <<up, todo, restarts>>

\* [WA-26]
RepairTimeout(n) ==
    /\ Runs(n)
    /\ \E repair \in repairs[n] :
        /\ repair[4] # {}
        /\ Become({Ended(TimedOut(Local(n), repair))}, {})
    /\ UNCHANGED <<up, todo, restarts>>

\* [WA-24]
HeartbeatDue(n) ==
    /\ n \in Heartbeats
    /\ Runs(n)
    /\ Become({SendAll(Local(n), Known(Local(n)), "heartbeat", <<>>)}, {})
    /\ UNCHANGED <<up, todo, restarts>>

\* [W-09]
FlushCache(n) ==
    /\ Flush
    /\ Runs(n)
    /\ cache[n] # <<>>
    /\ Become({[Local(n) EXCEPT !.cache = <<>>]}, {})
    /\ UNCHANGED <<up, todo, restarts>>

\* What the sender of a message makes of what became of it.
Senders(m, Learns(_)) == IF Runs(m[1]) THEN {Ended(Learns(Local(m[1])))} ELSE {}

Receive ==
    \E m \in net :
        /\ Runs(m[2])
        /\ Become({Ended(Received(Local(m[2]), m))} \cup Senders(m, LAMBDA state : Confirmed(state, m, Took[<<m[1], m[2]>>])), {m})
        /\ UNCHANGED <<up, todo, restarts>>

Fail ==
    \E m \in net :
        /\ ~Runs(m[2])
        /\ Become(Senders(m, LAMBDA state : Failed(state, m)), {m})
        /\ UNCHANGED <<up, todo, restarts>>

Restart(n) ==
    /\ n \in Restarting
    /\ restarts > 0
    /\ restarts' = restarts - 1
    /\ Become({Fresh(n)}, {})
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ UNCHANGED todo

Next ==
    \/ \E n \in Node : Command(n)
    \/ \E n \in Node : Announce(n)
    \/ \E n \in Node : RepairTimeout(n)
    \/ \E n \in Node : HeartbeatDue(n)
    \/ \E n \in Node : FlushCache(n)
    \/ Receive
    \/ Fail
    \/ \E n \in Node : Restart(n)

Spec == Init /\ [][Next]_vars

=============================================================================
