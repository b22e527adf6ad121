------------------------------- MODULE MCSwim -------------------------------
(***************************************************************************)
(* Properties of SWIM for the model checker.                               *)
(*                                                                         *)
(* Invariants speak of a state, and of what the next close or the messages *)
(* on their way would make of it. Models with expected counterexamples use *)
(* the claims at the end, or replace a definition of Swim by one from      *)
(* here.                                                                   *)
(***************************************************************************)
EXTENDS Swim

Status == {"joining", "normal", "suspicious", "dead", "leave"}

IsIncarnation(pair) == pair \in (0..(MaxRestart + MaxRestarts)) \X (0..MaxTx)

IsVector(vector) ==
    CASE vector[1] \in {"joining", "leave", "indirect-ack"} ->
             Len(vector) = 4 /\ vector[2] \in Node /\ IsIncarnation(<<vector[3], vector[4]>>)
      [] vector[1] \in {"normal", "suspicious", "dead"} ->
             vector[2] \in Node /\ (Len(vector) = 2 \/ (Len(vector) = 4 /\ IsIncarnation(<<vector[3], vector[4]>>)))
      [] vector[1] = "indirect-ping" -> Len(vector) = 2 /\ vector[2] \in Node
      [] vector[1] \in {"anti-entropy", "members"} ->
             Len(vector) > 1 /\ \A i \in 2..Len(vector) : vector[i][1] \in Node /\ IsIncarnation(Tail(vector[i]))
      [] vector[1] = "payload" -> vector[2] \in Payload

IsRow(row) ==
    /\ row.status \in Status
    /\ IsIncarnation(row.incarnation)
    /\ row.payload \in Payload \cup {""}
    /\ row.exchange \in {"first", "second", "done"}
    /\ row.misses \in 0..2
    /\ row.indirect \in 0..2
    /\ row.asked \in BOOLEAN
    /\ Len(row.unanswered) <= 16
    /\ \A i \in DOMAIN row.unanswered : row.unanswered[i] \in 1..MaxTx
    /\ \A i, j \in DOMAIN row.unanswered : i < j => row.unanswered[i] < row.unanswered[j]

\* [SI-01]
TypeOK ==
    /\ \A n \in Node :
        /\ IsIncarnation(own[n])
        /\ DOMAIN table[n] \subseteq Node \ {n}
        /\ \A m \in DOMAIN table[n] : IsRow(table[n][m])
        /\ \A i \in DOMAIN queue[n] : IsVector(queue[n][i].event) /\ queue[n][i].recipients \subseteq Node \ {n}
        /\ Range(round[n]) \subseteq Node \ {n}
        /\ answered[n] \subseteq pinged[n]
        /\ pinged[n] \subseteq Node \ {n}
        /\ {heard[n], isolated[n], left[n], up[n]} \subseteq BOOLEAN
        /\ \A i \in DOMAIN relays[n] : {relays[n][i].target, relays[n][i].requester} \subseteq Node \ {n}
        /\ payload[n] \in Payload \cup {""}
        /\ todo[n] \subseteq Commands(n)
    /\ restarts \in 0..MaxRestarts
    /\ \A m \in net :
        /\ {m[1], m[2]} \subseteq Node
        /\ m[3] \in {"ping", "ack"}
        /\ Len(m[4]) = IF m[3] = "ping" THEN 2 ELSE 3
        /\ \A i \in DOMAIN m[5] : IsVector(m[5][i])

-----------------------------------------------------------------------------
\* Incarnations

\* No node knows a larger incarnation of another than that node itself says. [SI-02]
OwnAhead == \A n \in Node : \A m \in DOMAIN table[n] : ~Less(own[m], table[n][m].incarnation)

\* What a message claims: <<node, incarnation>>.
Claims(m) ==
    LET entries(vector) == IF vector[1] \in {"anti-entropy", "members"} THEN Range(Tail(vector))
                           ELSE IF Len(vector) = 4 THEN {Tail(vector)}
                           ELSE {}
        all == UNION {entries(m[5][i]) : i \in DOMAIN m[5]}
    IN  {<<m[1], Incarnation(m)>>} \cup {<<entry[1], Tail(entry)>> : entry \in all}

\* No message does, either. [SI-02]
NothingInvented == \A m \in net : \A claim \in Claims(m) : ~Less(own[claim[1]], claim[2])

RowKey(row) == Key(row.status, row.incarnation)

IsRemoved(n, m) == <<"remove", m>> \in todo[n] \ todo'[n]

\* [SI-03]
NeverGoesBack ==
    restarts' = restarts => \A n \in Node : \A m \in DOMAIN table[n] : ~IsRemoved(n, m) =>
        m \in DOMAIN table'[n] /\ ~KeyLess(RowKey(table'[n][m]), RowKey(table[n][m]))

Monotone == [][NeverGoesBack]_vars

\* [SI-12]
NeverComesBack ==
    restarts' = restarts => \A n \in Node : \A m \in DOMAIN table[n] :
        table[n][m].status = "leave" /\ ~IsRemoved(n, m) =>
            table'[n][m].status = "leave" \/ table'[n][m].incarnation[1] > table[n][m].incarnation[1]

LeaveSticky == [][NeverComesBack]_vars

-----------------------------------------------------------------------------
\* The queue and the round

HasRemoved(n, m) == <<"remove", m>> \in Commands(n) \ todo[n]

\* One event for each node, which says what its row says, unless the row was removed since. [SI-04]
QueueLast ==
    \A n \in Node : \A i, j \in DOMAIN queue[n] :
        LET event == queue[n][i].event IN
        /\ queue[n][j].event[2] = event[2] => i = j
        /\ event[2] \in DOMAIN table[n] /\ ~HasRemoved(n, event[2]) =>
            /\ event[1] = table[n][event[2]].status
            /\ Len(event) = 4 => event[3] = table[n][event[2]].incarnation[1]

\* A node that is still to be pinged is there once, and has not been yet. [SI-05]
FairRound ==
    \A n \in Node :
        /\ \A i, j \in DOMAIN round[n] : round[n][i] = round[n][j] => i = j
        /\ Range(round[n]) \cap pinged[n] = {}

\* What is still queued has not been sent to enough. [SI-10]
RecipientBound ==
    \A n \in Node : \A i \in DOMAIN queue[n] :
        Cardinality(queue[n][i].recipients \ {queue[n][i].event[2]}) < Fanout(Cardinality(Node))

-----------------------------------------------------------------------------
\* The failure detector: what a close would make of the node now

\* [SI-06]
DeadOnlyAfterSuspicious ==
    \A n \in Node :
        LET closed == Closed(Local(n)).table IN
        \A m \in DOMAIN table[n] :
            closed[m].status = "dead" /\ table[n][m].status # "dead" =>
                table[n][m].status = "suspicious" /\ table[n][m].asked /\ closed[m].indirect = 2

\* [SI-09]
IsolationQuiet ==
    \A n \in Node : ClosesIsolated(Local(n)) =>
        LET closed == Closed(Local(n)) IN
        /\ closed.isolated
        /\ closed.table = table[n]
        /\ closed.queue = queue[n]

-----------------------------------------------------------------------------
\* Messages: what they would make of their receivers now

Arriving == {m \in net : up[m[2]]}

\* [SI-07]
PastIgnored ==
    \A m \in Arriving : IsPast(Local(m[2]), m) =>
        \A result \in Received(Local(m[2]), m) :
            LET to == m[2]
                known == table[to][m[1]].incarnation
                ack == <<to, m[1], "ack", <<own[to][1], own[to][2] + 1, m[4][2]>>, << <<"dead", m[1], known[1], known[2]>> >> >>
            IN  /\ [result[1] EXCEPT !.own = own[to]] = Local(to)
                /\ result[2] = IF m[3] = "ping" THEN {ack} ELSE {}

\* A payload in a row, or under way, that belongs to the present restart of its node was set in it. [SI-08]
PayloadLife ==
    /\ \A n \in Node : \A m \in DOMAIN table[n] :
        table[n][m].payload # "" /\ table[n][m].incarnation[1] = own[m][1] => payload[m] # ""
    /\ \A m \in net : (\E i \in DOMAIN m[5] : m[5][i][1] = "payload") /\ m[4][1] = own[m[1]][1] => payload[m[1]] # ""

\* Leaving is a decision and no rumour: it counts until the next restart. [SI-11, SA-13]
StaleRumourHarmless ==
    \A m \in Arriving : \A i \in DOMAIN m[5] :
        LET vector == m[5][i]
            to == m[2]
        IN  vector[1] \in Status \ {"leave"} /\ Len(vector) = 4 /\ vector[2] \in DOMAIN table[to]
            /\ Less(<<vector[3], vector[4]>>, table[to][vector[2]].incarnation)
            => EventApplied(Local(to), m[1], vector).table[vector[2]] = table[to][vector[2]]

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

NeverStatus(status) == \A n \in Node : \A m \in DOMAIN table[n] : table[n][m].status # status

NeverSuspicious == NeverStatus("suspicious")

NeverDead == NeverStatus("dead")

NeverLeave == NeverStatus("leave")

NeverIsolated == \A n \in Node : ~isolated[n]

\* No node that does not ping takes over a suspicion.
NeverHearsay == \A n \in Node \ Active : \A m \in DOMAIN table[n] : table[n][m].status # "suspicious"

\* What a message makes of its receiver's rows never is this.
NeverMakes(Change(_, _)) ==
    \A m \in Arriving : \A result \in Arrivals(m) : \A other \in DOMAIN table[m[2]] :
        ~Change(table[m[2]][other], result[1].table[other])

NeverRefuted == NeverMakes(LAMBDA before, after : before.status = "suspicious" /\ after.status = "normal")

NeverRisen == NeverMakes(LAMBDA before, after : before.status = "dead" /\ after.status = "normal")

NeverStalePayload == NeverMakes(LAMBDA before, after : before.payload # "" /\ after.payload = "")

NeverNewLife == NeverMakes(LAMBDA before, after : before.incarnation[1] < after.incarnation[1])

\* No node is told that it comes from the past.
NeverExpired == \A m \in net : ~(m[3] = "ack" /\ Len(m[5]) = 1 /\ m[5][1][1] = "dead" /\ m[5][1][2] = m[2])

\* No node has to raise its own restart counter.
NeverRaised == \A m \in Arriving : \A result \in Arrivals(m) : result[1].own[1] = own[m[2]][1]

\* No node completes both exchanges.
NeverJoined == NeverMakes(LAMBDA before, after : before.exchange = "second" /\ after.exchange = "done")

NeverVector(name) == \A m \in net : \A i \in DOMAIN m[5] : m[5][i][1] # name

NeverIndirectAck == NeverVector("indirect-ack")

NeverMembers == NeverVector("members")

\* No event in a queue makes room for a newer one about the same node.
NeverReplaced ==
    \A m \in Arriving : \A result \in Arrivals(m) : \A i \in DOMAIN queue[m[2]], j \in DOMAIN result[1].queue :
        queue[m[2]][i].event[2] = result[1].queue[j].event[2] => queue[m[2]][i].event = result[1].queue[j].event

\* No ping comes from an unknown node.
NeverStranger == \A m \in Arriving : m[1] \in DOMAIN table[m[2]] \/ Says(m, "joining", m[1])

\* A node that has left by itself is never done with it.
NeverSilent == \A n \in Node : ~(left[n] /\ IsSilent(Local(n)))

\* No crashed node is suspected where all others that could relay are considered dead, one of them wrongly.
NeverWithoutRelay ==
    \A n, m, other \in Node :
        ~(/\ up[n] /\ ~up[m] /\ up[other]
          /\ {m, other} \subseteq DOMAIN table[n]
          /\ table[n][m].status = "suspicious"
          /\ table[n][other].status = "dead"
          /\ Live(Local(n)) = {m})

-----------------------------------------------------------------------------
\* Counterexamples: false claims, and definitions by which they hold

\* No node comes to believe that another is suspicious or dead at an incarnation that the sender has never heard of. [SX-02]
NoStaleRumour ==
    \A m \in Arriving : \A result \in Arrivals(m) : \A other \in DOMAIN table[m[2]] :
        LET row == result[1].table[other] IN
        row.status \in {"suspicious", "dead"} /\ table[m[2]][other].status # row.status /\ other \in DOMAIN table[m[1]]
        => ~Less(table[m[1]][other].incarnation, row.incarnation)

\* Of any two nodes that run, one is in the rounds of the other, or they have a chain of such. [SX-04]
RECURSIVE Reached(_)
Reached(nodes) ==
    LET more == {n \in Node : up[n] /\ \E m \in nodes : n \in InRounds(Local(m)) \/ m \in InRounds(Local(n))}
    IN  IF more \subseteq nodes THEN nodes ELSE Reached(nodes \cup more)

StillAsked == \A n \in Node : up[n] => \A m \in Node : up[m] => m \in Reached({n})

\* The others, without the node's own side: nodes 1 and 2 on one, 3 and 4 on the other. [SX-04]
WithinSides(messages) == {m \in messages : (m[1] <= 2) = (m[2] <= 2)}

\* Nothing is shuffled: one of the possible random choices.
FirstPicks(S, k) == {SubSeq(Ascending(S), 1, Min(k, Cardinality(S)))}

\* Also the dead are pinged. [mends SX-04]
AllInRounds(state) == {m \in Known(state) : state.table[m].status # "leave"}

\* When no queue and no message has a leave any more, all have heard of it. [SX-05]
Speaks(events, m) == \E i \in DOMAIN events : events[i][1] = "leave" /\ events[i][2] = m

HeardByAll ==
    \A m \in Node :
        /\ \E n \in Node \ {m} : m \in Known(Local(n)) /\ table[n][m].status = "leave"
        /\ \A n \in Node : ~Speaks([i \in DOMAIN queue[n] |-> queue[n][i].event], m)
        /\ \A message \in net : ~Speaks(message[5], m)
        => \A n \in Node \ {m} : m \in Known(Local(n)) => table[n][m].status = "leave"

\* All nodes have to get an event. [mends SX-05]
Everybody(N) == N - 1

\* A removed node is not live again. [SX-06]
RemovedStaysGone == \A n, m \in Node : HasRemoved(n, m) => m \notin Live(Local(n))

\* The row stays, as that of a node that has left. [mends SX-06]
Remember(state, m) == Leave(state, m)

\* What m makes of its receiver's rows, if it may.
HeardRows(state, m) == [other \in DOMAIN state.table |-> RowKey(Accepted(state, m).table[other])]

\* Two messages from different nodes make the same of a node, in either order. [SX-07]
EventsCommute ==
    \A one, other \in Arriving :
        LET state == Local(one[2]) IN
        /\ one[2] = other[2]
        /\ one[1] < other[1]
        /\ {one[1], other[1]} \subseteq Known(state)
        /\ ~IsPast(state, one) /\ ~IsPast(state, other)
        /\ ~IsPast(Accepted(state, one), other) /\ ~IsPast(Accepted(state, other), one)
        => HeardRows(Accepted(state, one), other) = HeardRows(Accepted(state, other), one)

\* No ack is taken for the answer to a ping that is still on its way. [SX-08]
AckOfThisLife ==
    \A m \in Arriving :
        m[3] = "ack" /\ m[1] \in Known(Local(m[2])) /\ ~IsPast(Local(m[2]), m) /\ IsAnswer(Local(m[2]), m) =>
            ~\E ping \in net : ping[1] = m[2] /\ ping[2] = m[1] /\ ping[3] = "ping" /\ ping[4] = <<own[m[2]][1], m[4][3]>>

\* Acks name the restart counter too. [mends SX-08]
HeaderWithLife(state, m) == <<state.own[1], state.own[2], m[4][2], m[4][1]>>

\* An ack with another restart counter than the node's own is no answer. [mends SX-08]
IsAnswerOfLife(state, m) == m[4][3] \in Range(state.table[m[1]].unanswered) /\ m[4][4] = state.own[1]

\* No message lowers a key. [SX-10]
NeverLowers == NeverMakes(LAMBDA before, after : KeyLess(RowKey(after), RowKey(before)))

\* An event without an incarnation counts, whatever is known. [SX-10]
Overwritten(state, m, status) ==
    IF state.table[m].status = status THEN state
    ELSE QueuedRow([state EXCEPT !.table[m].status = status], m)

=============================================================================
