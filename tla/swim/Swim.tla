-------------------------------- MODULE Swim --------------------------------
(***************************************************************************)
(* SWIM: nodes ping each other in rounds, and detect which nodes are up,   *)
(* which have gone and which only seem to have gone.                       *)
(*                                                                         *)
(* A node that does not answer twice is suspicious; others are asked to    *)
(* ping it; if that does not help either, it is dead. The news of all this *)
(* travels inside pings and their acks, and every datagram of a node bears *)
(* a counter by which rumours about the node are refuted.                  *)
(*                                                                         *)
(* Written from the clauses in spec/swim.md, whose numbers stand in        *)
(* brackets. There is no time: a quantum may begin whenever it wants to.   *)
(* The address of every node is known, everything fits into a datagram,    *)
(* and subscriptions and probes are left out.                              *)
(*                                                                         *)
(* What a node does is a set of results, one for each random choice:       *)
(* <<state, sent>>, with the state of the node afterwards, and its         *)
(* datagrams. What was picked in the step, in order, stands in the state   *)
(* until the step ends; it keeps results apart that are otherwise equal,   *)
(* so that every choice is an edge.                                        *)
(***************************************************************************)
EXTENDS Network, Sequences, TLC

CONSTANTS
    Node,              \* the nodes 1..N; the order of the numbers is the order of the ids
    Start,             \* "fresh": all but the first have the first as seed; "acquainted": all nodes know each other
    Active,            \* the nodes that have quanta; the others only answer
    AeSize,            \* the most rows in anti-entropy [SA-28]
    EmitIncarnation,   \* whether normal, suspicious and dead are sent with an incarnation [SA-12]
    MaxTx,             \* no quantum, message or command takes a node beyond this incarnation
    MaxRestart,        \* the highest restart counter
    MaxRestarts,       \* the most restarts of the nodes in Restarting, together
    Restarting,        \* the nodes that may restart
    Forgetful,         \* the nodes that lose their restart counter when they restart [SX-09]
    Todo               \* commands of applications, once each, in any order: texts such as "1 leave 2", see CommandText

VARIABLES
    own,              \* own[n] = <<restart, tx>>, the incarnation [S-14]
    table,            \* table[n][m]: what n knows of another node m [S-36]
    queue,            \* events that are still to be sent, and the nodes that have got them [S-39, SA-25]
    round,            \* the nodes that are still to be pinged in this round [S-43]
    pinged,           \* the nodes that have been, in this round
    answered,         \* those of them that have answered since
    heard,            \* whether any ack was accepted in this round [SA-07]
    isolated,         \* whether the fault seems to be the node's own [S-08]
    left,             \* whether the node has left by itself [SA-59]
    relays,           \* the indirect pings that were asked of the node [SA-55]
    payload,          \* the node's own data; "" is none
    up,               \* whether the node runs
    todo,             \* what the node's application may still ask for
    restarts          \* how many restarts are left

local == <<own, table, queue, round, pinged, answered, heard, isolated, left, relays, payload>>

vars == <<own, table, queue, round, pinged, answered, heard, isolated, left, relays, payload, up, todo, restarts, net>>

Payload == {"p", "q"}

\* A configuration file of TLC has no tuples.
CommandText(n, command) ==
    ToString(n) \o " " \o command[1] \o " " \o (IF command[1] = "payload" THEN command[2] ELSE ToString(command[2]))

CommandSet == ({"leave", "remove", "add", "crash"} \X Node) \cup ({"payload"} \X Payload)

Commands(n) == {command \in CommandSet : CommandText(n, command) \in Todo}

ASSUME SwimAssumption ==
    /\ Node = 1..Cardinality(Node)
    /\ Start \in {"fresh", "acquainted"}
    /\ Active \cup Restarting \cup Forgetful \subseteq Node
    /\ EmitIncarnation \in BOOLEAN
    /\ {AeSize, MaxTx, MaxRestart, MaxRestarts} \subseteq Nat
    /\ Todo = UNION {{CommandText(n, command) : command \in Commands(n)} : n \in Node}

-----------------------------------------------------------------------------
\* What a configuration says, and what is not in the model

MostMembers == AeSize

HasIncarnations == EmitIncarnation

\* A node without data of its own. [S-58]
NoPayload == ""

\* As many of these vectors as fit into the datagram behind what it holds, from the first on [SA-32]: here everything fits.
Fitting(state, datagram, vectors) == vectors

\* As many of these nodes as fit into the datagram as anti-entropy with this keyword. [SA-32]
FittingMembers(state, datagram, tag, order) == order

\* The state in which the address of m is the one that was said together with it [SA-51]: here no address changes.
Placed(state, m, said) == state

-----------------------------------------------------------------------------
\* Sequences, and choices

Range(seq) == {seq[i] : i \in DOMAIN seq}

RECURSIVE Ascending(_)
Ascending(S) ==
    IF S = {} THEN <<>>
    ELSE LET least == CHOOSE x \in S : \A y \in S : x <= y IN <<least>> \o Ascending(S \ {least})

Min(a, b) == IF a < b THEN a ELSE b

\* Every way to pick k of a set, or all if there are fewer, in order.
Picks(S, k) ==
    {order \in [1..Min(k, Cardinality(S)) -> S] : \A i, j \in DOMAIN order : i # j => order[i] # order[j]}

\* Every answer to a question at this point of a step. The question has a name, which counts only where answers are recorded.
Answers(state, question, S, k) == Picks(S, k)

\* The state with each of these answers.
Picked(state, question, S, k) == {[state EXCEPT !.picks = Append(@, answer)] : answer \in Answers(state, question, S, k)}

LastPick(state) == state.picks[Len(state.picks)]

\* Without a choice and without a datagram.
Just(state) == {<<state, {}>>}

\* One thing after the other.
Then(results, Next2(_)) ==
    UNION {{<<second[1], first[2] \cup second[2]>> : second \in Next2(first[1])} : first \in results}

\* A choice, and what it leads to.
Choosing(state, question, S, k, Next2(_)) == UNION {Next2(picked) : picked \in Picked(state, question, S, k)}

-----------------------------------------------------------------------------
\* Incarnations and rows

Less(one, other) == one[1] < other[1] \/ (one[1] = other[1] /\ one[2] < other[2])   \* [SA-10]

Rank(status) == CASE status = "joining" -> 0 [] status = "normal" -> 1 [] status = "suspicious" -> 2 [] status = "dead" -> 3
                  [] status = "leave" -> 0

\* [SA-13]
Key(status, incarnation) == <<incarnation[1], IF status = "leave" THEN 1 ELSE 0, incarnation[2], Rank(status)>>

KeyLess(one, other) == \E i \in 1..4 : one[i] < other[i] /\ \A j \in 1..(i - 1) : one[j] = other[j]

NewRow(status, incarnation, exchange) ==
    [status |-> status, incarnation |-> incarnation, payload |-> NoPayload, exchange |-> exchange,
     misses |-> 0, indirect |-> 0, asked |-> FALSE, unanswered |-> <<>>]

EventNames == {"joining", "normal", "suspicious", "dead", "leave"}   \* [S-18…S-21, SA-05]

Well == {"joining", "normal"}

LiveStatus == {"joining", "normal", "suspicious"}   \* [SA-27]

Known(state) == DOMAIN state.table

Live(state) == {m \in Known(state) : state.table[m].status \in LiveStatus}

ActiveSize(state) == Cardinality(Live(state)) + 1   \* [SA-39]

\* log2 N, rounded up. [SA-23]
Fanout(N) == IF N <= 1 THEN 0 ELSE CHOOSE k \in 1..N : 2^(k - 1) < N /\ N <= 2^k

WithRow(state, m, row) == [state EXCEPT !.table = (m :> row) @@ @]

-----------------------------------------------------------------------------
\* The queue

\* A status as a vector. [S-18…S-21, SA-05, SA-12]
Vector(status, m, incarnation) ==
    IF status \in {"joining", "leave"} \/ HasIncarnations THEN <<status, m, incarnation[1], incarnation[2]>> ELSE <<status, m>>

\* The node's last state only. [S-39, SA-25]
Queued(state, vector) ==
    LET isOfAnother(entry) == entry.event[2] # vector[2]
    IN  [state EXCEPT !.queue = Append(SelectSeq(@, isOfAnother), [event |-> vector, recipients |-> {}])]

QueuedRow(state, m) == Queued(state, Vector(state.table[m].status, m, state.table[m].incarnation))

\* The entries that a datagram to this node carries, as vectors. [SA-25]
News(state, to) ==
    LET isNews(entry) == to \in Live(state) /\ to \notin entry.recipients
        entries == SelectSeq(state.queue, isNews)
    IN  [i \in DOMAIN entries |-> entries[i].event]

\* So many have to get an event. [S-40]
Enough(N) == Fanout(N)

\* The nodes that the events of a datagram are about.
Subjects(datagram) ==
    LET vectors == datagram[5] IN {vectors[i][2] : i \in {j \in DOMAIN vectors : vectors[j][1] \in EventNames}}

\* The queue after a datagram: an entry that it carries leaves the queue once enough nodes have got it, the one that it is
\* about not counted. One that it does not carry stays, also if fewer would be enough by now.
NewsSent(state, datagram) ==
    LET to == datagram[2]
        subjects == Subjects(datagram)
        sent(entry) == IF entry.event[2] \in subjects THEN [entry EXCEPT !.recipients = @ \cup {to}] ELSE entry
        isWanted(entry) ==
            \/ to \in entry.recipients
            \/ entry.event[2] \notin subjects
            \/ Cardinality(sent(entry).recipients \ {entry.event[2]}) < Enough(ActiveSize(state))
        wanted == SelectSeq(state.queue, isWanted)
    IN  IF to \in Live(state) THEN [state EXCEPT !.queue = [i \in DOMAIN wanted |-> sent(wanted[i])]] ELSE state

-----------------------------------------------------------------------------
\* Merging

\* What has just been said of a known node. [SA-13, SA-34, SA-49]
Merged(state, m, status, incarnation) ==
    LET old == state.table[m]
        isNewer == Less(old.incarnation, incarnation)
        new == [old EXCEPT !.status = status,
                           !.incarnation = incarnation,
                           !.payload = IF incarnation[1] > old.incarnation[1] THEN NoPayload ELSE @,
                           !.asked = @ /\ ~isNewer,
                           !.indirect = IF isNewer THEN 0 ELSE @,
                           !.misses = IF status \in Well /\ old.status \notin Well THEN 0 ELSE @]
        after == WithRow(state, m, new)
    IN  IF ~KeyLess(Key(old.status, old.incarnation), Key(status, incarnation)) THEN state
        ELSE IF status # old.status \/ incarnation[1] # old.incarnation[1] THEN QueuedRow(after, m)
        ELSE after

\* A row for a node that was unknown. [SA-45]
Added(state, m, status, incarnation) == WithRow(state, m, NewRow(status, incarnation, "done"))

\* The same of something that has an address, which is taken over if the rest is. [SA-29, SA-56]
MergedThere(state, m, status, incarnation, said) ==
    LET merged == Merged(state, m, status, incarnation) IN IF merged = state THEN state ELSE Placed(merged, m, said)

AddedThere(state, m, status, incarnation, said) == Placed(Added(state, m, status, incarnation), m, said)

\* What the header says of its sender. [SA-14]
HeaderStatus(row, restart) ==
    IF row.status \in {"leave", "joining"} /\ row.incarnation[1] = restart THEN row.status ELSE "normal"

-----------------------------------------------------------------------------
\* Datagrams

Counted(state) == [state EXCEPT !.own[2] = @ + 1]   \* [SA-09]

Ping(state, to, vectors) == <<state.id, to, "ping", state.own, vectors>>

\* The answer to a ping m. [S-17]
AckHeader(state, m) == <<state.own[1], state.own[2], m[4][2]>>

Ack(state, m, vectors) == <<state.id, m[1], "ack", AckHeader(state, m), vectors>>

\* A datagram with more in it, as far as it fits. [SA-32]
Filled(state, datagram, vectors) == [datagram EXCEPT ![5] = @ \o Fitting(state, datagram, vectors)]

\* The ping that has just been counted is remembered. [SA-42, SA-52]
Awaited(state, to) ==
    LET last(seq) == SubSeq(seq, Len(seq) - Min(16, Len(seq)) + 1, Len(seq))
    IN  IF to \in Known(state) THEN [state EXCEPT !.table[to].unanswered = last(Append(@, state.own[2]))] ELSE state

\* Anti-entropy, with its keyword or without: a vector, or none. [S-22, SA-18, SA-28]
Members(state, tag, order) ==
    IF order = <<>> THEN <<>>
    ELSE << <<tag>> \o [i \in DOMAIN order |-> <<order[i]>> \o state.table[order[i]].incarnation] >>

FilledMembers(state, datagram, tag, order) ==
    [datagram EXCEPT ![5] = @ \o Members(state, tag, FittingMembers(state, datagram, tag, order))]

\* Some live nodes, picked for anti-entropy, and what comes of it. [S-33, SA-28]
ChoosingMembers(state, to, Next2(_)) == Choosing(state, "anti-entropy", Live(state) \ {to}, MostMembers, Next2)

\* [SA-33, SA-59]
OwnPayload(state) == IF state.payload = NoPayload \/ state.left THEN <<>> ELSE << <<"payload", state.payload>> >>

BarePing(state, to, vectors) ==
    LET counted == Counted(state) IN {<<Awaited(counted, to), {Ping(counted, to, vectors)}>>}

\* A ping with what it is for, and all that travels in it. [S-31, SA-30, SA-32]
FullPing(state, to, purpose) ==
    LET counted == Counted(state)
        withNews == Filled(counted, Ping(counted, to, purpose), News(counted, to))
        whole(order) == Filled(counted, FilledMembers(counted, withNews, "anti-entropy", order), OwnPayload(counted))
        sent(chosen) == {<<Awaited(NewsSent(chosen, withNews), to), {whole(LastPick(chosen))}>>}
    IN  ChoosingMembers(counted, to, sent)

\* A node that is not live, or has to be introduced to, is sent only what it is for. [SA-04, SA-57]
PingFor(state, to, purpose) ==
    IF to \in Live(state) /\ state.table[to].exchange = "done" THEN FullPing(state, to, purpose) ELSE BarePing(state, to, purpose)

\* What a live node is sent in its turn. [S-24, S-27, SA-57]
Request(state, to) ==
    LET incarnation == Counted(state).own
        exchange == state.table[to].exchange
    IN  CASE exchange = "first" -> BarePing(state, to, <<Vector("joining", state.id, incarnation)>>)
          [] exchange = "second" -> BarePing(state, to, <<Vector("normal", state.id, incarnation)>>)
          [] exchange = "done" -> PingFor(state, to, <<>>)

-----------------------------------------------------------------------------
\* The failure detector

\* [SA-07]
ClosesIsolated(state) == Cardinality(state.pinged) >= 2 /\ ~state.heard

\* What this close makes of m's row: a direct ping was missed, or an indirect one. [SA-02, SA-03]
SettledRow(state, m) ==
    LET old == state.table[m]
        hasMissed == m \in Live(state) \cap state.pinged /\ m \notin state.answered
        missed == [old EXCEPT !.misses = IF hasMissed THEN Min(@ + 1, 2) ELSE @]
        suspect == [missed EXCEPT !.status = "suspicious"]
        asked == [missed EXCEPT !.indirect = @ + 1, !.asked = FALSE]
    IN  IF hasMissed /\ missed.misses = 2 /\ old.status \in Well THEN QueuedRow(WithRow(state, m, suspect), m)
        ELSE IF old.status = "suspicious" /\ old.asked
        THEN IF asked.indirect >= 2 THEN QueuedRow(WithRow(state, m, [asked EXCEPT !.status = "dead"]), m)
             ELSE WithRow(state, m, asked)
        ELSE WithRow(state, m, missed)

RECURSIVE AllSettled(_, _)
AllSettled(state, nodes) == IF nodes = <<>> THEN state ELSE AllSettled(SettledRow(state, Head(nodes)), Tail(nodes))

Suspicious(state) == {m \in Known(state) : state.table[m].status = "suspicious"}

\* Requests of others are remembered over one close. [SA-55]
Aged(seq) ==
    LET isFresh(relay) == relay.fresh
        fresh == SelectSeq(seq, isFresh)
    IN  [i \in DOMAIN fresh |-> [fresh[i] EXCEPT !.fresh = FALSE]]

\* The round is over, and nothing has been sent yet. [SA-53]
Closed(state) ==
    LET settled == IF ClosesIsolated(state) THEN [state EXCEPT !.isolated = TRUE] ELSE AllSettled(state, Ascending(Known(state)))
    IN  [settled EXCEPT !.pinged = {}, !.answered = {}, !.heard = FALSE, !.relays = Aged(@)]

\* The nodes that can be asked to ping m. [SA-03]
RelaysFor(state, m) == {relay \in Live(state) \ {m} : state.table[relay].status # "suspicious"}

\* One indirect ping for each of these nodes. [S-05, SA-03, SA-08]
RECURSIVE IndirectPings(_, _)
IndirectPings(state, nodes) ==
    IF nodes = <<>> THEN Just(state)
    ELSE LET m == Head(nodes)
             asked == [state EXCEPT !.table[m].asked = TRUE]
             rest(after) == IndirectPings(after, Tail(nodes))
             ping(chosen) == Then(PingFor(chosen, LastPick(chosen)[1], << <<"indirect-ping", m>> >>), rest)
         IN  IF RelaysFor(state, m) = {} THEN rest(state)
             ELSE Choosing(asked, "indirect.relay", RelaysFor(state, m), 1, ping)

-----------------------------------------------------------------------------
\* The quantum

RECURSIVE Requests(_, _)
Requests(state, nodes) ==
    IF nodes = <<>> THEN Just(state)
    ELSE Then(Request(state, Head(nodes)), LAMBDA after : Requests(after, Tail(nodes)))

\* The first N of the round. [S-44, SA-24, SA-26]
Pings(state) ==
    LET count == Min(Fanout(ActiveSize(state)), Len(state.round))
        first == SubSeq(state.round, 1, count)
    IN  Requests([state EXCEPT !.round = SubSeq(@, count + 1, Len(@)), !.pinged = @ \cup Range(first)], first)

\* [S-43, SA-26, SA-27]
InRounds(state) == Live(state)

NewRound(state) ==
    LET begun(chosen) == Pings([chosen EXCEPT !.round = LastPick(chosen)])
    IN  Choosing(state, "round.order", InRounds(state), Cardinality(InRounds(state)), begun)

\* [SA-59]
IsSilent(state) ==
    state.left /\ ~\E i \in DOMAIN state.queue : state.queue[i].event[1] = "leave" /\ state.queue[i].event[2] = state.id

Quanta(state) ==
    LET isInRounds(m) == m \in InRounds(state)
        going == [state EXCEPT !.round = SelectSeq(@, isInRounds)]
        closed == Closed(going)
        suspicious == IF ClosesIsolated(going) THEN {} ELSE Suspicious(closed)
    IN  IF IsSilent(state) THEN Just(state)
        ELSE IF going.round # <<>> THEN Pings(going)
        ELSE Then(IndirectPings(closed, Ascending(suspicious)), NewRound)

-----------------------------------------------------------------------------
\* Receiving

Incarnation(m) == <<m[4][1], m[4][2]>>

Says(m, what, about) == \E i \in DOMAIN m[5] : m[5][i][1] = what /\ m[5][i][2] = about

\* [S-41, S-42, SA-10]
IsPast(state, m) == m[1] \in Known(state) /\ Less(Incarnation(m), state.table[m[1]].incarnation)

\* Another node says that this node is dead, or suspicious. [SA-17, SA-52]
Refuted(state, from, incarnation) ==
    LET begin == IF from \in Live(state) THEN {from} ELSE Live(state)
    IN  IF incarnation = <<>> \/ ~Less(state.own, incarnation) THEN state
        ELSE [state EXCEPT !.own = <<incarnation[1] + 1, 0>>,
                           !.relays = <<>>,
                           !.table = [m \in DOMAIN @ |-> [@[m] EXCEPT !.unanswered = <<>>,
                                                                      !.exchange = IF m \in begin THEN "first" ELSE @]]]

\* An ack about this node moves the exchange with its sender on, by one step, after all else that it says. [SA-57]
Exchanged(state, m) ==
    LET next(exchange) == CASE exchange = "first" /\ Says(m, "joining", state.id) -> "second"
                            [] exchange = "second" /\ Says(m, "normal", state.id) -> "done"
                            [] OTHER -> exchange
    IN  IF m[3] = "ack" THEN [state EXCEPT !.table[m[1]].exchange = next(@)] ELSE state

\* An event about a node, without an incarnation. [SA-12]
BareEvent(state, m, status) == Merged(state, m, status, state.table[m].incarnation)

\* An event about a node. [SA-12, SA-13, SA-45]
EventApplied(state, from, vector) ==
    LET status == vector[1]
        m == vector[2]
        incarnation == IF Len(vector) > 2 THEN <<vector[3], vector[4]>> ELSE <<>>
    IN  IF m = state.id
        THEN IF status \in {"dead", "suspicious"} THEN Refuted(state, from, incarnation) ELSE state
        ELSE IF m \notin Known(state)
        THEN IF status = "joining" THEN QueuedRow(AddedThere(state, m, status, incarnation, vector), m) ELSE state
        ELSE IF incarnation = <<>> THEN BareEvent(state, m, status)
        ELSE IF status = "joining" THEN MergedThere(state, m, status, incarnation, vector)
        ELSE Merged(state, m, status, incarnation)

\* Entries <<node, restart, tx>> of anti-entropy. [SA-28, SA-29]
RECURSIVE Learnt(_, _)
Learnt(state, entries) ==
    IF entries = <<>> THEN state
    ELSE LET entry == Head(entries)
             m == entry[1]
             incarnation == <<entry[2], entry[3]>>
         IN  Learnt(IF m = state.id THEN state
                    ELSE IF m \notin Known(state) THEN AddedThere(state, m, "normal", incarnation, entry)
                    ELSE IF Less(state.table[m].incarnation, incarnation) THEN MergedThere(state, m, "normal", incarnation, entry)
                    ELSE state,
                    Tail(entries))

\* The answer of a relay. [SA-03, SA-04]
IndirectAck(state, m, incarnation) ==
    IF m = state.id \/ m \notin Known(state) THEN state
    ELSE LET merged == Merged(state, m, "normal", incarnation)
         IN  [merged EXCEPT !.table[m].asked = FALSE, !.table[m].indirect = 0]

Applied(state, from, vector) ==
    CASE vector[1] \in EventNames -> EventApplied(state, from, vector)
      [] vector[1] \in {"anti-entropy", "members"} -> Learnt(state, Tail(vector))
      [] vector[1] = "indirect-ack" -> IndirectAck(state, vector[2], <<vector[3], vector[4]>>)
      [] vector[1] \in {"indirect-ping", "payload"} -> state

RECURSIVE AllApplied(_, _, _)
AllApplied(state, from, vectors) ==
    IF vectors = <<>> THEN state ELSE AllApplied(Applied(state, from, Head(vectors)), from, Tail(vectors))

\* A payload is applied last. [SA-34, SA-56]
PayloadApplied(state, m) ==
    LET isPayload(vector) == vector[1] = "payload"
        payloads == SelectSeq(m[5], isPayload)
    IN  IF payloads = <<>> THEN state ELSE [state EXCEPT !.table[m[1]].payload = payloads[Len(payloads)][2]]

\* The header, or the joining in its place. [SA-14, SA-21]
HeaderApplied(state, m) ==
    LET from == m[1]
        joining == CHOOSE i \in DOMAIN m[5] : m[5][i][1] = "joining" /\ m[5][i][2] = from
    IN  IF Says(m, "joining", from) THEN EventApplied(state, from, m[5][joining])
        ELSE Merged(state, from, HeaderStatus(state.table[from], m[4][1]), Incarnation(m))

\* Whether an ack names a ping that is still unanswered. [SA-42]
IsAnswer(state, m) == m[4][3] \in Range(state.table[m[1]].unanswered)

\* [SA-02, SA-52]
AckMatched(state, m) ==
    LET from == m[1]
        isLater(other) == other > m[4][3]
    IN  IF ~IsAnswer(state, m) THEN state
        ELSE [state EXCEPT !.table[from].unanswered = SelectSeq(@, isLater),
                           !.table[from].misses = 0,
                           !.answered = @ \cup ({from} \cap state.pinged)]

Accepted(state, m) ==
    LET matched == IF m[3] = "ack" THEN [AckMatched(state, m) EXCEPT !.heard = TRUE] ELSE state
        said == HeaderApplied([matched EXCEPT !.isolated = FALSE], m)
    IN  Exchanged(PayloadApplied(AllApplied(said, m[1], m[5]), m), m)

-----------------------------------------------------------------------------
\* Answering a ping

AckWith(state, m, vectors) == LET counted == Counted(state) IN {<<counted, {Ack(counted, m, vectors)}>>}

\* [S-30]
PastAnswer(state, m) == AckWith(state, m, << <<"dead", m[1]>> \o state.table[m[1]].incarnation >>)

\* [S-25, SA-18]
FirstAnswer(state, m) ==
    LET counted == Counted(state)
        ack == Ack(counted, m, <<Vector("joining", m[1], state.table[m[1]].incarnation)>>)
        sent(chosen) == {<<chosen, {FilledMembers(counted, ack, "members", LastPick(chosen))}>>}
    IN  ChoosingMembers(counted, m[1], sent)

\* [S-32]; or with these events. [S-28]
FullAnswer(state, m, events) ==
    LET counted == Counted(state)
        withNews == Filled(counted, Ack(counted, m, <<>>), events)
        sent(chosen) ==
            {<<NewsSent(chosen, withNews), {FilledMembers(counted, withNews, "anti-entropy", LastPick(chosen))}>>}
    IN  ChoosingMembers(counted, m[1], sent)

NormalFirst(state, m) ==
    LET isOfAnother(vector) == vector[2] # m[1]
    IN  <<Vector("normal", m[1], state.table[m[1]].incarnation)>> \o SelectSeq(News(state, m[1]), isOfAnother)

\* [SA-50, SA-58]
Replies(state, m) ==
    LET from == m[1]
        status == state.table[from].status
    IN  IF from \notin Live(state) THEN AckWith(state, m, <<>>)
        ELSE IF Says(m, "joining", from) /\ status = "joining" THEN FirstAnswer(state, m)
        ELSE IF Says(m, "normal", from) /\ status = "normal" THEN FullAnswer(state, m, NormalFirst(state, m))
        ELSE FullAnswer(state, m, News(state, from))

-----------------------------------------------------------------------------
\* Relaying

\* A ping on behalf of another node. [SA-55]
RelayPing(state, requester, target) ==
    LET isOther(relay) == relay.requester # requester \/ relay.target # target
        relay == [target |-> target, requester |-> requester, tx |-> Counted(state).own[2], fresh |-> TRUE]
        waiting == [state EXCEPT !.relays = Append(SelectSeq(@, isOther), relay)]
    IN  IF target \in {state.id, requester} THEN Just(state)
        ELSE IF target \in Live(state) THEN Request(waiting, target)
        ELSE BarePing(waiting, target, <<>>)

RECURSIVE RelayPings(_, _, _)
RelayPings(state, requester, vectors) ==
    IF vectors = <<>> THEN Just(state)
    ELSE IF Head(vectors)[1] # "indirect-ping" THEN RelayPings(state, requester, Tail(vectors))
    ELSE Then(RelayPing(state, requester, Head(vectors)[2]), LAMBDA after : RelayPings(after, requester, Tail(vectors)))

\* What the nodes get that asked for the ping that is acknowledged. [SA-04, SA-55]
RECURSIVE RelayAcks(_, _, _)
RelayAcks(state, m, waiting) ==
    IF waiting = <<>> THEN Just(state)
    ELSE LET requester == Head(waiting).requester
             vector == <<"indirect-ack", m[1]>> \o Incarnation(m)
         IN  IF requester \notin Known(state) THEN RelayAcks(state, m, Tail(waiting))
             ELSE Then(PingFor(state, requester, <<vector>>), LAMBDA after : RelayAcks(after, m, Tail(waiting)))

IsAwaited(relay, m) == relay.target = m[1] /\ relay.tx = m[4][3]

WithoutRelays(state, m) ==
    LET isOther(relay) == ~IsAwaited(relay, m) IN [state EXCEPT !.relays = SelectSeq(@, isOther)]

\* What an ack from the past is still good for: nothing. [SA-16]
PastAck(state, m) == state

OnPing(state, m) ==
    IF m[1] \notin Known(state) /\ ~Says(m, "joining", m[1]) THEN AckWith(state, m, <<>>)   \* [SA-21]
    ELSE IF IsPast(state, m) THEN PastAnswer(state, m)                                     \* [SA-16]
    ELSE Then(Replies(Accepted(state, m), m), LAMBDA after : RelayPings(after, m[1], m[5]))

OnAck(state, m) ==
    LET isAwaited(relay) == IsAwaited(relay, m)
        waiting == SelectSeq(state.relays, isAwaited)
        without == WithoutRelays(state, m)
    IN  IF m[1] \notin Known(state) THEN RelayAcks(without, m, waiting)                     \* [SA-21]
        ELSE IF IsPast(state, m) THEN Just(PastAck(state, m))
        ELSE RelayAcks(Accepted(without, m), m, waiting)

Received(state, m) == IF m[3] = "ping" THEN OnPing(state, m) ELSE OnAck(state, m)

-----------------------------------------------------------------------------
\* Commands

IsAllowed(state, command) ==
    CASE command[1] = "leave" -> command[2] = state.id \/ command[2] \in Known(state)   \* [SA-37]
      [] command[1] = "remove" -> command[2] \in Known(state)                           \* [SA-36]
      [] command[1] = "add" -> command[2] # state.id                                    \* [SA-38]
      [] command[1] = "payload" -> TRUE                                                 \* [S-58]
      [] command[1] = "crash" -> command[2] = state.id

\* [SA-37]
Leave(state, m) ==
    IF m # state.id THEN Merged(state, m, "leave", state.table[m].incarnation)
    ELSE IF state.left THEN state
    ELSE Queued([state EXCEPT !.left = TRUE], Vector("leave", m, state.own))

\* [SA-36]
Remove(state, m) == [Leave(state, m) EXCEPT !.table = [other \in DOMAIN @ \ {m} |-> @[other]]]

\* [SA-38]
Add(state, m) == IF m \in Known(state) THEN state ELSE WithRow(state, m, NewRow("joining", <<0, 0>>, "first"))

Obeyed(state, command) ==
    CASE command[1] = "leave" -> Leave(state, command[2])
      [] command[1] = "remove" -> Remove(state, command[2])
      [] command[1] = "add" -> Placed(Add(state, command[2]), command[2], command)
      [] command[1] = "payload" -> [state EXCEPT !.payload = command[2]]
      [] command[1] = "crash" -> state

-----------------------------------------------------------------------------
\* Actions

Local(n) ==
    [id |-> n, own |-> own[n], table |-> table[n], queue |-> queue[n], round |-> round[n], pinged |-> pinged[n],
     answered |-> answered[n], heard |-> heard[n], isolated |-> isolated[n], left |-> left[n], relays |-> relays[n],
     payload |-> payload[n], picks |-> <<>>]

Becomes(n, state) ==
    /\ own' = [own EXCEPT ![n] = state.own]
    /\ table' = [table EXCEPT ![n] = state.table]
    /\ queue' = [queue EXCEPT ![n] = state.queue]
    /\ round' = [round EXCEPT ![n] = state.round]
    /\ pinged' = [pinged EXCEPT ![n] = state.pinged]
    /\ answered' = [answered EXCEPT ![n] = state.answered]
    /\ heard' = [heard EXCEPT ![n] = state.heard]
    /\ isolated' = [isolated EXCEPT ![n] = state.isolated]
    /\ left' = [left EXCEPT ![n] = state.left]
    /\ relays' = [relays EXCEPT ![n] = state.relays]
    /\ payload' = [payload EXCEPT ![n] = state.payload]

IsBounded(state) == state.own[1] <= MaxRestart /\ state.own[2] <= MaxTx

\* A node as it starts, with these rows. [SA-48]
Started(n, restart, rows) ==
    [id |-> n, own |-> <<restart, 0>>, table |-> rows, queue |-> <<>>, round |-> <<>>, pinged |-> {}, answered |-> {},
     heard |-> FALSE, isolated |-> FALSE, left |-> FALSE, relays |-> <<>>, payload |-> NoPayload, picks |-> <<>>]

\* The rows of the configuration. [SA-57]
SeedRows(n) == [seed \in {1} \ {n} |-> NewRow("joining", <<0, 0>>, "first")]

FirstRows(n) == IF Start = "fresh" THEN SeedRows(n) ELSE [m \in Node \ {n} |-> NewRow("normal", <<0, 0>>, "done")]

Init ==
    LET state(n) == Started(n, 0, FirstRows(n)) IN
    /\ own = [n \in Node |-> state(n).own]
    /\ table = [n \in Node |-> state(n).table]
    /\ queue = [n \in Node |-> state(n).queue]
    /\ round = [n \in Node |-> state(n).round]
    /\ pinged = [n \in Node |-> state(n).pinged]
    /\ answered = [n \in Node |-> state(n).answered]
    /\ heard = [n \in Node |-> state(n).heard]
    /\ isolated = [n \in Node |-> state(n).isolated]
    /\ left = [n \in Node |-> state(n).left]
    /\ relays = [n \in Node |-> state(n).relays]
    /\ payload = [n \in Node |-> state(n).payload]
    /\ up = [n \in Node |-> TRUE]
    /\ todo = [n \in Node |-> Commands(n)]
    /\ restarts = MaxRestarts
    /\ net = {}

\* What of these datagrams gets onto the net at all.
OnTheNet(messages) == messages

Quantum(n) ==
    /\ n \in Active
    /\ up[n]
    /\ \E result \in Quanta(Local(n)) :
        /\ IsBounded(result[1])
        /\ Send(OnTheNet(result[2]))
        /\ Becomes(n, result[1])
    /\ UNCHANGED <<up, todo, restarts>>

\* A message to a node that does not run is gone, and that is all.
Arrivals(m) == IF up[m[2]] THEN {result \in Received(Local(m[2]), m) : IsBounded(result[1])} ELSE Just(Local(m[2]))

Receive ==
    \E m \in net : \E result \in Arrivals(m) :
        /\ Answer(m, OnTheNet(result[2]))
        /\ Becomes(m[2], result[1])
        /\ UNCHANGED <<up, todo, restarts>>

ReceiveAgain ==
    \E m \in net : \E result \in Arrivals(m) :
        /\ AnswerCopy(m, OnTheNet(result[2]))
        /\ Becomes(m[2], result[1])
        /\ UNCHANGED <<up, todo, restarts>>

Lose ==
    \E m \in net :
        /\ Drop(m)
        /\ UNCHANGED <<local, up, todo, restarts>>

Command(n) ==
    /\ up[n]
    /\ \E command \in todo[n] :
        /\ IsAllowed(Local(n), command)
        /\ command[1] # "crash" => IsBounded(Local(n))
        /\ Becomes(n, Obeyed(Local(n), command))
        /\ up' = [up EXCEPT ![n] = command[1] # "crash"]
        /\ todo' = [todo EXCEPT ![n] = @ \ {command}]
        /\ UNCHANGED <<restarts, net>>

Restart(n) ==
    LET restart == own[n][1] + (IF n \in Forgetful THEN 0 ELSE 1) IN
    /\ n \in Restarting
    /\ restarts > 0
    /\ restarts' = restarts - 1
    /\ Becomes(n, Started(n, restart, SeedRows(n)))
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ UNCHANGED <<todo, net>>

Next ==
    \/ \E n \in Node : Quantum(n)
    \/ Receive
    \/ ReceiveAgain
    \/ Lose
    \/ \E n \in Node : Command(n)
    \/ \E n \in Node : Restart(n)

Spec == Init /\ [][Next]_vars

=============================================================================
