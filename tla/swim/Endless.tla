------------------------------ MODULE Endless ------------------------------
(***************************************************************************)
(* What happens in the end, if counters have no bound.                     *)
(*                                                                         *)
(* Elsewhere a node goes no further than MaxTx, and nothing can be said of *)
(* what comes after. But a counter is only ever raised by one, and         *)
(* compared with others of the same node. So states whose counters have    *)
(* the same order go on in the same way, and one of them stands for all:   *)
(* that in which the counters of each node are 0, 1, 2 and so on. A node   *)
(* that waits for the ack of a ping when neither is on its way any more    *)
(* waits for nothing, and that is forgotten. Then there are finitely many  *)
(* states, runs go on for ever, and MaxTx is out of reach. No node         *)
(* restarts, and nothing arrives twice.                                    *)
(*                                                                         *)
(* The network is fast: a quantum begins when nothing is on its way.       *)
(***************************************************************************)
EXTENDS Prompt

CONSTANT MaxLosses   \* the most datagrams that get lost; 0: any number

VARIABLE losses      \* how many have been, if they are counted

endlessVars == <<vars, losses>>

ASSUME EndlessAssumption == MaxRestarts = 0 /\ ~Duplication /\ MaxLosses \in Nat

\* <<node, tx>> of each ping that may still be acknowledged.
PingsUnderWay(messages) == {IF m[3] = "ping" THEN <<m[1], m[4][2]>> ELSE <<m[2], m[4][3]>> : m \in messages}

\* No node waits for any other ping.
Waiting(world) ==
    LET pings == PingsUnderWay(world.net) IN
    [world EXCEPT
        !.table = [n \in Node |-> [m \in DOMAIN @[n] |->
            LET isUnderWay(tx) == <<n, tx>> \in pings IN [@[n][m] EXCEPT !.unanswered = SelectSeq(@, isUnderWay)]]],
        !.relays = [n \in Node |-> LET isUnderWay(relay) == <<n, relay.tx>> \in pings IN SelectSeq(@[n], isUnderWay)]]

\* <<node, tx>> of what a vector says.
Said(vector) ==
    CASE vector[1] \in {"anti-entropy", "members"} -> {<<entry[1], entry[3]>> : entry \in Range(Tail(vector))}
      [] vector[1] = "payload" -> {}
      [] OTHER -> IF Len(vector) = 4 THEN {<<vector[2], vector[4]>>} ELSE {}

\* <<node, tx>> of all counters that there are.
Counters(world) ==
    {<<n, world.own[n][2]>> : n \in Node}
    \cup UNION {{<<m, world.table[n][m].incarnation[2]>> : m \in DOMAIN world.table[n]} : n \in Node}
    \cup UNION {UNION {Said(entry.event) : entry \in Range(world.queue[n])} : n \in Node}
    \cup PingsUnderWay(world.net)
    \cup {<<m[1], m[4][2]>> : m \in world.net}
    \cup UNION {UNION {Said(vector) : vector \in Range(m[5])} : m \in world.net}

\* Op of a value that the model checker works out once, and not whenever it is used.
With(value, Op(_)) == CHOOSE result \in {Op(known) : known \in {value}} : TRUE

\* How many smaller ones there are of the same node; @@ so that it is worked out once.
Smaller(counters) ==
    [counter \in counters |-> Cardinality({other \in counters : other[1] = counter[1] /\ other[2] < counter[2]})] @@ <<>>

\* The same with other counters.
Renamed(world, smaller) ==
    LET rank(n, tx) == smaller[<<n, tx>>]
        said(vector) ==
            CASE vector[1] \in {"anti-entropy", "members"} ->
                     <<vector[1]>> \o [i \in 1..(Len(vector) - 1) |->
                         LET entry == vector[i + 1] IN <<entry[1], entry[2], rank(entry[1], entry[3])>>]
              [] vector[1] = "payload" -> vector
              [] OTHER -> IF Len(vector) = 4 THEN [vector EXCEPT ![4] = rank(vector[2], @)] ELSE vector
        row(n, m, old) ==
            [old EXCEPT !.incarnation[2] = rank(m, @), !.unanswered = [i \in DOMAIN @ |-> rank(n, @[i])]]
        header(m) ==
            IF m[3] = "ping" THEN <<m[4][1], rank(m[1], m[4][2])>>
            ELSE <<m[4][1], rank(m[1], m[4][2]), rank(m[2], m[4][3])>>
    IN  [own |-> [n \in Node |-> <<world.own[n][1], rank(n, world.own[n][2])>>],
         table |-> [n \in Node |-> [m \in DOMAIN world.table[n] |-> row(n, m, world.table[n][m])]],
         queue |-> [n \in Node |-> [i \in DOMAIN world.queue[n] |-> [world.queue[n][i] EXCEPT !.event = said(@)]]],
         relays |-> [n \in Node |-> [i \in DOMAIN world.relays[n] |-> [world.relays[n][i] EXCEPT !.tx = rank(n, @)]]],
         net |-> {<<m[1], m[2], m[3], header(m), [i \in DOMAIN m[5] |-> said(m[5][i])]>> : m \in world.net}]

\* The state that stands for all in which the counters have this order.
Standing(before) ==
    With(Waiting(before), LAMBDA world :
        With(Counters(world), LAMBDA counters : With(Smaller(counters), LAMBDA smaller : Renamed(world, smaller))))

\* n has become this, and these messages are under way.
Comes(n, state, messages) ==
    /\ HasRoom(messages)
    /\ \E world \in {Standing([own |-> [own EXCEPT ![n] = state.own],
                                table |-> [table EXCEPT ![n] = state.table],
                                queue |-> [queue EXCEPT ![n] = state.queue],
                                relays |-> [relays EXCEPT ![n] = state.relays],
                                net |-> messages])} :
        /\ own' = world.own
        /\ table' = world.table
        /\ queue' = world.queue
        /\ relays' = world.relays
        /\ net' = world.net
    /\ round' = [round EXCEPT ![n] = state.round]
    /\ pinged' = [pinged EXCEPT ![n] = state.pinged]
    /\ answered' = [answered EXCEPT ![n] = state.answered]
    /\ heard' = [heard EXCEPT ![n] = state.heard]
    /\ isolated' = [isolated EXCEPT ![n] = state.isolated]
    /\ left' = [left EXCEPT ![n] = state.left]
    /\ payload' = [payload EXCEPT ![n] = state.payload]

EndlessInit == Init /\ losses = 0

EndlessQuantum(n) ==
    /\ n \in Active
    /\ up[n]
    /\ net = {}
    /\ \E result \in Quanta(Local(n)) : Comes(n, result[1], OnTheNet(result[2]))
    /\ UNCHANGED <<up, todo, restarts, losses>>

Arrives(m) ==
    /\ \E result \in Arrivals(m) : Comes(m[2], result[1], (net \ {m}) \cup OnTheNet(result[2]))
    /\ UNCHANGED <<up, todo, restarts, losses>>

EndlessReceive == \E m \in net : Arrives(m)

EndlessLose ==
    /\ Loss
    /\ MaxLosses = 0 \/ losses < MaxLosses
    /\ losses' = IF MaxLosses = 0 THEN 0 ELSE losses + 1
    /\ \E m \in net : Comes(m[2], Local(m[2]), net \ {m})
    /\ UNCHANGED <<up, todo, restarts>>

EndlessCommand(n) ==
    /\ up[n]
    /\ \E command \in todo[n] :
        /\ IsAllowed(Local(n), command)
        /\ Comes(n, Obeyed(Local(n), command), net)
        /\ up' = [up EXCEPT ![n] = command[1] # "crash"]
        /\ todo' = [todo EXCEPT ![n] = @ \ {command}]
        /\ UNCHANGED <<restarts, losses>>

EndlessNext ==
    \/ \E n \in Node : EndlessQuantum(n)
    \/ EndlessReceive
    \/ EndlessLose
    \/ \E n \in Node : EndlessCommand(n)

\* The bounds of the model bound nothing: no step sends more than four datagrams.
OutOfReach == Cardinality(net) + 4 <= MaxNet /\ \A n \in Node : own[n][2] + 4 <= MaxTx

-----------------------------------------------------------------------------
\* Fairness: few conditions on purpose, as the model checker's work doubles with each
\*
\* SF_endlessVars(Action) would say the same where OutOfReach holds. But the model checker, asked whether an action is
\* enabled, takes far too long; so that is written down here as what it comes to.

EndlessSpec == EndlessInit /\ [][EndlessNext]_endlessVars

FairQuanta == \A n \in Active : []<>(up[n] /\ net = {}) => []<><<EndlessQuantum(n)>>_endlessVars

IsUnderWay(kind) == \E m \in net : m[3] = kind

ArrivesSome(kind) == \E m \in net : m[3] = kind /\ Arrives(m)

FairArrival(kind) == []<>IsUnderWay(kind) => []<><<ArrivesSome(kind)>>_endlessVars

\* Of the pings that are sent again and again, some arrive, and likewise of the acks. For one node that pings another.
FairSpec == EndlessSpec /\ FairQuanta /\ FairArrival("ping") /\ FairArrival("ack")

\* Where losses are counted: what is under way does not stay there for ever.
CalmSpec == EndlessSpec /\ FairQuanta /\ []<>(net = {})

\* The network may swallow everything.
UnfairSpec == CalmSpec

-----------------------------------------------------------------------------
\* What happens in the end

Introduces(n) == 1 \in DOMAIN table[n] /\ table[n][1].exchange # "done"

HasJoined(n) ==
    /\ 1 \in DOMAIN table[n]
    /\ table[n][1].exchange = "done"
    /\ n \in DOMAIN table[1]
    /\ table[1][n].status = "normal"

\* A node that introduces itself to the seed is normal there in the end, and knows the seed. [SL-01]
Joins == \A n \in Node \ {1} : Introduces(n) ~> HasJoined(n)

\* A node that does not run is dead at each node that pings, in the end and for good. [SL-02]
FoundForGood ==
    <>[](\A n, m \in Node : n \in Active /\ up[n] /\ ~up[m] => m \in DOMAIN table[n] /\ table[n][m].status = "dead")

IsSuspected(n, m) == up[n] /\ up[m] /\ m \in DOMAIN table[n] /\ table[n][m].status = "suspicious"

IsWell(n, m) == m \in DOMAIN table[n] /\ table[n][m].status \in Well

\* A node that runs, and is suspicious at a node that pings, is well there again. [SL-03]
Restored == \A n \in Active : \A m \in Node \ {n} : IsSuspected(n, m) ~> IsWell(n, m)

\* A node that is live somewhere is known everywhere, in the end and for good. [SL-04]
KnownToAll ==
    <>[](\A m \in Node : up[m] /\ (\E n \in Node : up[n] /\ m \in Live(Local(n))) =>
            \A n \in Node \ {m} : up[n] => m \in DOMAIN table[n])

\* A header leaves a suspicion as it is. [breaks SL-03]
SuspectedStill(row, restart) ==
    IF row.status \in {"leave", "joining", "suspicious"} /\ row.incarnation[1] = restart THEN row.status ELSE "normal"

=============================================================================
