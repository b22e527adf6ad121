-------------------------------- MODULE Peter --------------------------------
(***************************************************************************)
(* Peter: trees of subscribers, one for each topic, on a network that      *)
(* routes.                                                                 *)
(*                                                                         *)
(* A node that wants a topic says so to its next hop towards the topic,    *)
(* which wants it then, too; so the paths to the meeting point, the node   *)
(* that is closest to the topic, are a tree. An event is routed to the     *)
(* meeting point, and goes down the tree. When nodes come or go, the nodes *)
(* that hear of it repair their part of the tree.                          *)
(*                                                                         *)
(* Written from the clauses in spec/peter.md, whose numbers stand in       *)
(* brackets. Of routing only this is left: a next hop is a known node that *)
(* is closer to the topic, and a node that knows no closer one is taken    *)
(* for the meeting point. Messages arrive, unless their receiver is not    *)
(* up; then the sender is told in the same step.                           *)
(*                                                                         *)
(* A message is <<from, to, kind, topic, event, hop>>; hop says how many   *)
(* nodes have received the event before. The event of "tell" is a node.    *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences, TLC

CONSTANTS
    Node,         \* the nodes
    Topic,        \* the topics
    Order,        \* which node is closer to a topic: texts such as "1 3 2 4": of topic 1, node 3 is the closest, and then 2
    Members,      \* the nodes that are up from the start; others are once they have joined
    Knows,        \* which nodes a node knows from then on: texts such as "1 2", node 1 knows node 2
    Astray,       \* routes that disagree with Order: texts such as "1 1 2", from node 1 for topic 1 to node 2
    Subscribed,   \* the nodes that have subscribed before the first state: texts such as "2 1", node 2 to topic 1
    Todo,         \* commands of applications, in this order: texts such as "2 1 publish 1 3", see ThingText
    Beating,      \* which node asks which whether it is up, at any moment: texts such as "1 2" [PL-01]
    Hops,         \* "any": a next hop is any node that is known; "closest": the closest of them
    Fifo,         \* whether messages between the same two nodes arrive in the order sent [PA-19]
    MaxNet,       \* the most messages under way
    MaxHops       \* an event that has passed this many nodes is not copied any more [PA-25]

VARIABLES
    local,        \* the topics that the node's application has subscribed to
    children,     \* <<topic, child>>
    parent,       \* <<topic, parent>>, one for a topic at most
    view,         \* the nodes that the node knows
    asking,       \* the nodes that it has asked whether they are up
    up,           \* whether the node is up
    todo,         \* what its application will still do
    got,          \* the events that its application has got: <<topic, event>> -> how often
    restarts,     \* always 0: a node that has gone does not come back
    net           \* the messages under way; with Fifo, <<from, to, sequence of the rest of each>>

mine == <<local, children, parent, view, asking, got>>

vars == <<mine, up, todo, restarts, net>>

PublishedEvent == 1..9

-----------------------------------------------------------------------------
\* A configuration file of TLC has no tuples.

RECURSIVE Text(_)
Text(numbers) ==
    IF Len(numbers) = 1 THEN ToString(numbers[1]) ELSE ToString(numbers[1]) \o " " \o Text(Tail(numbers))

\* What an application may do.
Things ==
    ({"subscribe", "unsubscribe"} \X Topic \X {0}) \cup ({"publish"} \X Topic \X PublishedEvent) \cup ({"join", "leave", "crash"} \X {0} \X {0}) \cup ({"tell"} \X Node \X Node)

ThingText(n, i, thing) == Text(<<n, i>>) \o " " \o thing[1] \o " " \o Text(<<thing[2], thing[3]>>)

\* At most one: the i-th thing of a node's application.
ThingsAt(n, i) == {thing \in Things : ThingText(n, i, thing) \in Todo}

Script ==
    [n \in Node |->
        LET all == [i \in 1..9 |-> ThingsAt(n, i)]
        IN  [i \in 1..Cardinality({i \in 1..9 : all[i] # {}}) |-> CHOOSE thing \in all[i] : TRUE]]

Orderings == {order \in [1..Cardinality(Node) -> Node] : \A n \in Node : \E i \in DOMAIN order : order[i] = n}

\* The nodes, the closest to the topic first.
Ordered == [t \in Topic |-> CHOOSE order \in Orderings : Text(<<t>> \o order) \in Order]

Place == [t \in Topic |-> [n \in Node |-> CHOOSE i \in DOMAIN Ordered[t] : Ordered[t][i] = n]]

Known == [n \in Node |-> {m \in Node : Text(<<n, m>>) \in Knows}]

Beaten == [n \in Node |-> {m \in Node : Text(<<n, m>>) \in Beating}]

Led == [n \in Node |-> [t \in Topic |-> {m \in Node : Text(<<n, t, m>>) \in Astray}]]

Subscribers == [t \in Topic |-> {n \in Node : Text(<<n, t>>) \in Subscribed}]

RECURSIVE Sum(_, _)
Sum(function, domain) ==
    IF domain = {} THEN 0 ELSE LET a == CHOOSE a \in domain : TRUE IN function[a] + Sum(function, domain \ {a})

Counts(function) == Sum([a \in DOMAIN function |-> Cardinality(function[a])], DOMAIN function)

ASSUME PeterAssumption ==
    /\ Node \cup Topic \subseteq Nat \ {0}
    /\ Members \subseteq Node
    /\ Cardinality(Order) = Cardinality(Topic)
    /\ \A t \in Topic : \E order \in Orderings : Text(<<t>> \o order) \in Order
    /\ Cardinality(Knows) = Counts(Known)
    /\ Cardinality(Beating) = Counts(Beaten)
    /\ Cardinality(Astray) = Sum([n \in Node |-> Counts(Led[n])], Node)
    /\ Cardinality(Subscribed) = Counts(Subscribers)
    /\ Cardinality(Todo) = Sum([n \in Node |-> Len(Script[n])], Node)
    /\ \A n \in Members : Known[n] \subseteq Members
    /\ \A n \in Node : n \notin Known[n]
    /\ Hops \in {"any", "closest"}
    /\ Fifo \in BOOLEAN
    /\ {MaxNet, MaxHops} \subseteq Nat

Range(seq) == {seq[i] : i \in DOMAIN seq}

Least(numbers) == CHOOSE a \in numbers : \A b \in numbers : a <= b

-----------------------------------------------------------------------------
\* Routing

IsCloser(t, m, n) == Place[t][m] < Place[t][n]

\* [P-13, PA-20]
Closest(t, nodes) == CHOOSE n \in nodes : \A m \in nodes \ {n} : IsCloser(t, n, m)

Candidates(n, known, t) ==
    IF Led[n][t] # {} THEN Led[n][t] \cap known ELSE {m \in known : IsCloser(t, m, n)}

\* One of them is the next hop; if there is none, this node is the meeting point.
NextHopsOf(n, known, t, hops) ==
    LET among == Candidates(n, known, t) IN IF among = {} \/ hops = "any" THEN among ELSE {Closest(t, among)}

NextHops(state, t) == NextHopsOf(state.id, state.view, t, Hops)

-----------------------------------------------------------------------------
\* The state of one node, with what it sends on an event, in order, and the next hops that it has chosen: each choice is a way
\* of its own, whether or not it makes a difference.

Of(pairs, t) == {pair[2] : pair \in {pair \in pairs : pair[1] = t}}

Children(state, t) == Of(state.children, t)

\* None, or one.
Parent(state, t) == Of(state.parent, t)

\* [PA-04]
IsInterested(state, t) == t \in state.local \/ Children(state, t) # {}

\* What is reported upward when it begins, and when it ends: here, all interest together. [PA-04]
Interests(state, t) == <<IsInterested(state, t)>>

Begins(before, after, t) == \E i \in DOMAIN Interests(after, t) : ~Interests(before, t)[i] /\ Interests(after, t)[i]

Ends(before, after, t) == Begins(after, before, t)

Send(state, to, kind, t, e, hop) == [state EXCEPT !.sent = Append(@, <<to, kind, t, e, hop>>)]

RECURSIVE SendAll(_, _, _, _, _, _)
SendAll(state, to, kind, t, e, hop) ==
    IF to = {} THEN state
    ELSE SendAll(Send(state, Least(to), kind, t, e, hop), to \ {Least(to)}, kind, t, e, hop)

Parentless(state, t) == [state EXCEPT !.parent = {pair \in @ : pair[1] # t}]

Chosen(state, hop) == [state EXCEPT !.chosen = Append(@, hop)]

\* [P-07, P-11, PA-09]
SubscribedAt(state, t, hop) ==
    Send([Parentless(state, t) EXCEPT !.parent = @ \cup {<<t, hop>>}], hop, "subscribe", t, 0, 0)

\* The meeting point has no node to tell. [PA-09, PA-13]
GoesUp(state, t) ==
    LET hops == NextHops(state, t)
    IN  IF hops = {} THEN {Parentless(state, t)} ELSE {SubscribedAt(Chosen(state, hop), t, hop) : hop \in hops}

\* A parent that has been told of interest is told of its end. None, or one. [PA-10]
UnsubscribedAt(state, t) == Parent(state, t)

\* [P-20, P-22]
Withdrawn(state, t) == SendAll(Parentless(state, t), UnsubscribedAt(state, t), "unsubscribe", t, 0, 0)

\* What follows from a change of interest. [P-10, P-11, P-22, P-23, PA-04…PA-07]
Told(before, after, t) ==
    IF Begins(before, after, t) THEN GoesUp(after, t)
    ELSE IF Ends(before, after, t) THEN {Withdrawn(after, t)}
    ELSE {after}

\* [P-08, P-09, PA-08]
WithChild(state, t, child) == Told(state, [state EXCEPT !.children = @ \cup {<<t, child>>}], t)

\* [P-21, PA-07]
WithoutChild(state, t, child) == Told(state, [state EXCEPT !.children = @ \ {<<t, child>>}], t)

-----------------------------------------------------------------------------
\* Repair

\* The joiner is the next hop: no other node is the parent any more. If it was the parent already, it may have forgotten.
\* [P-17…P-19, PA-10…PA-13]
Rehomed(state, t, joined) ==
    LET hops == NextHops(state, t)
    IN  IF ~IsInterested(state, t) THEN {state}
        ELSE IF Parent(state, t) = {joined} THEN {Send(state, joined, "subscribe", t, 0, 0)}
        ELSE IF hops = {} THEN {state}
        ELSE {IF hop = joined THEN SubscribedAt(Withdrawn(Chosen(state, hop), t), t, hop) ELSE Chosen(state, hop) : hop \in hops}

\* [P-14…P-16, PA-14]
Repaired(state, t, departed) ==
    LET after == [state EXCEPT !.children = @ \ {<<t, departed>>}]
        orphan == [after EXCEPT !.parent = @ \ {<<t, departed>>}]
    IN  IF Ends(state, after, t) THEN {Withdrawn(orphan, t)}
        ELSE IF orphan.parent # after.parent THEN GoesUp(orphan, t)
        ELSE {after}

\* A node without a parent looks for one; a node with one leaves it for a next hop that is new. [PA-27]
Connected(state, t, new) ==
    LET hops == NextHops(state, t)
    IN  IF ~IsInterested(state, t) THEN {state}
        ELSE IF Parent(state, t) = {} THEN GoesUp(state, t)
        ELSE IF hops = {} THEN {state}
        ELSE {IF hop \in new /\ Parent(state, t) # {hop} THEN SubscribedAt(Withdrawn(Chosen(state, hop), t), t, hop)
              ELSE Chosen(state, hop) : hop \in hops}

\* One topic after the other. [PA-33]
RECURSIVE InTurn(_, _, _, _)
InTurn(what, about, states, topics) ==
    IF topics = {} THEN states
    ELSE LET t == Least(topics)
             after == UNION {CASE what = "joined" -> Connected(state, t, about)
                               [] what = "node joined" -> Rehomed(state, t, about)
                               [] what = "node exited" -> Repaired(state, t, about) : state \in states}
         IN  InTurn(what, about, after, topics \ {t})

\* A joiner looks at all nodes that it knows; a node in the ring, at those that it did not know.
Joined(state, new) == InTurn("joined", new, {state}, Topic)

\* Of a node that knows others than before. [PA-27]
LooksAgain(before, states) == UNION {IF state.view = before.view THEN {state} ELSE Joined(state, state.view \ before.view) : state \in states}

NodeJoined(state, id) == InTurn("node joined", id, {state}, Topic)

NodeExited(state, id) == InTurn("node exited", id, {state}, Topic)

-----------------------------------------------------------------------------
\* Events that are published

Got(state, t, e) ==
    LET before == IF <<t, e>> \in DOMAIN state.got THEN state.got[<<t, e>>] ELSE 0
    IN  [state EXCEPT !.got = (<<t, e>> :> before + 1) @@ @]

\* The node is the hop-th that has the event. [P-25, P-26, PA-17, PA-25, PA-33]
FannedOut(state, to, t, e, hop) ==
    LET delivered == IF t \in state.local THEN Got(state, t, e) ELSE state
    IN  IF hop < MaxHops THEN SendAll(delivered, to, "notify", t, e, hop) ELSE delivered

\* [P-24, PA-15, PA-16]
Routed(state, t, e, hop) ==
    LET hops == NextHops(state, t)
    IN  IF hops = {} THEN {FannedOut(state, Children(state, t), t, e, hop)}
        ELSE {Send(Chosen(state, next), next, "publish", t, e, hop) : next \in hops}

-----------------------------------------------------------------------------
\* Everything that arrives, or does not

Received(state, m) ==
    LET from == m[1]
        t == m[4]
    IN  CASE m[3] = "announce" ->
                 LooksAgain(state, NodeJoined([state EXCEPT !.view = @ \cup {from}], from))   \* [WA-72]
          [] m[3] = "tell" -> LooksAgain(state, {[state EXCEPT !.view = @ \cup ({m[5]} \ {state.id})]})
          [] m[3] = "exit" ->
                 IF from \in state.view THEN NodeExited([state EXCEPT !.view = @ \ {from}], from) ELSE {state}
          [] m[3] = "subscribe" -> WithChild(state, t, from)
          [] m[3] = "unsubscribe" -> WithoutChild(state, t, from)
          [] m[3] = "publish" -> Routed(state, t, m[5], m[6] + 1)
          [] m[3] = "notify" ->   \* [PA-18, PA-26, PA-34]
                 LET to == IF Parent(state, t) = {from} THEN Children(state, t) \ {from} ELSE {}
                 IN  {FannedOut(state, to, t, m[5], m[6] + 1)}

\* [PA-28]
Failed(state, m) ==
    LET gone == m[2]
        without == [state EXCEPT !.view = @ \ {gone}, !.asking = IF m[3] = "heartbeat" THEN @ \ {gone} ELSE @]
        isTold == gone \in state.view \/ m[3] \in {"subscribe", "unsubscribe", "notify", "publish"}
        after == IF isTold THEN NodeExited(without, gone) ELSE {without}
    IN  IF m[3] = "publish" THEN UNION {Routed(repaired, m[4], m[5], m[6]) : repaired \in after} ELSE after

-----------------------------------------------------------------------------
\* The network

Arriving == IF Fifo THEN {<<queue[1], queue[2]>> \o Head(queue[3]) : queue \in net} ELSE net

QueueOf(messages, from, to) == {queue \in messages : queue[1] = from /\ queue[2] = to}

\* Without the message, which is the first of its queue.
Less(messages, m) ==
    IF ~Fifo THEN messages \ {m}
    ELSE LET queues == QueueOf(messages, m[1], m[2])
         IN  (messages \ queues) \cup {<<m[1], m[2], Tail(queue[3])>> : queue \in {queue \in queues : Len(queue[3]) > 1}}

RECURSIVE More(_, _, _)
More(messages, from, sent) ==
    IF sent = <<>> THEN messages
    ELSE LET to == Head(sent)[1]
             rest == Tail(Head(sent))
             queues == QueueOf(messages, from, to)
             after == IF ~Fifo THEN messages \cup {<<from, to>> \o rest}
                      ELSE IF queues = {} THEN messages \cup {<<from, to, <<rest>> >>}
                      ELSE (messages \ queues) \cup {<<from, to, Append(queue[3], rest)>> : queue \in queues}
         IN  More(after, from, Tail(sent))

RECURSIVE Lengths(_)
Lengths(queues) ==
    IF queues = {} THEN 0 ELSE LET queue == CHOOSE queue \in queues : TRUE IN Len(queue[3]) + Lengths(queues \ {queue})

Size(messages) == IF Fifo THEN Lengths(messages) ELSE Cardinality(messages)

-----------------------------------------------------------------------------
\* Actions

Local(n) ==
    [id |-> n, local |-> local[n], children |-> children[n], parent |-> parent[n], view |-> view[n], asking |-> asking[n],
     got |-> got[n], sent |-> <<>>, chosen |-> <<>>]

\* The node takes this state, and what it sends is under way beside these. A choice of one out of one is a value that TLC
\* finds once.
Become(state, messages) ==
    \E after \in {More(messages, state.id, state.sent)} :
        /\ Size(after) <= MaxNet
        /\ net' = after
        /\ local' = [local EXCEPT ![state.id] = state.local]
        /\ children' = [children EXCEPT ![state.id] = state.children]
        /\ parent' = [parent EXCEPT ![state.id] = state.parent]
        /\ view' = [view EXCEPT ![state.id] = state.view]
        /\ asking' = [asking EXCEPT ![state.id] = state.asking]
        /\ got' = [got EXCEPT ![state.id] = state.got]

\* Whether a node that is not up may still join. [PA-21]
MayJoin(n) == n \notin Members /\ todo[n] = Script[n]

\* A node that tells of another must know it.
IsPossible(n, thing) ==
    CASE thing[1] = "join" -> ~up[n] /\ MayJoin(n)
      [] thing[1] = "tell" -> up[n] /\ thing[3] \in view[n]
      [] OTHER -> up[n]

Obeyed(state, thing) ==
    LET t == thing[2]
    IN  CASE thing[1] = "subscribe" -> Told(state, [state EXCEPT !.local = @ \cup {t}], t)
          [] thing[1] = "unsubscribe" -> Told(state, [state EXCEPT !.local = @ \ {t}], t)
          [] thing[1] = "publish" -> Routed(state, t, thing[3], 0)
          [] thing[1] = "join" ->
                 Joined(SendAll([state EXCEPT !.view = Known[state.id]], Known[state.id], "announce", 0, 0, 0), Known[state.id])
          [] thing[1] = "leave" -> {SendAll(state, state.view, "exit", 0, 0, 0)}   \* [PA-32]
          [] thing[1] = "crash" -> {state}
          [] thing[1] = "tell" -> {Send(state, thing[2], "tell", 0, thing[3], 0)}

\* The first tree: each node has told the closest that it knows.
FirstView(n) == IF n \in Members THEN Known[n] ELSE {}

FirstHops(n, t) == NextHopsOf(n, FirstView(n), t, "closest")

RECURSIVE Interested(_, _)
Interested(t, nodes) ==
    LET more == nodes \cup UNION {FirstHops(n, t) : n \in nodes} IN IF more = nodes THEN nodes ELSE Interested(t, more)

FirstTree(t) == Interested(t, Subscribers[t])

Init ==
    /\ local = [n \in Node |-> {t \in Topic : n \in Subscribers[t]}]
    /\ children = [n \in Node |-> UNION {{<<t, c>> : c \in {c \in FirstTree(t) : n \in FirstHops(c, t)}} : t \in Topic}]
    /\ parent = [n \in Node |-> UNION {{<<t, p>> : p \in IF n \in FirstTree(t) THEN FirstHops(n, t) ELSE {}} : t \in Topic}]
    /\ view = [n \in Node |-> FirstView(n)]
    /\ asking = [n \in Node |-> {}]
    /\ up = [n \in Node |-> n \in Members]
    /\ todo = Script
    /\ got = [n \in Node |-> <<>>]
    /\ restarts = 0
    /\ net = {}

Command(n) ==
    /\ todo[n] # <<>>
    /\ IsPossible(n, Head(todo[n]))
    /\ \E state \in Obeyed(Local(n), Head(todo[n])) : Become(state, net)
    /\ up' = [up EXCEPT ![n] = Head(todo[n])[1] \notin {"leave", "crash"}]
    /\ todo' = [todo EXCEPT ![n] = Tail(@)]
    /\ UNCHANGED restarts

Heartbeat(n) ==
    /\ up[n]
    /\ \E m \in (Beaten[n] \cap view[n]) \ asking[n] :
        Become(Send([Local(n) EXCEPT !.asking = @ \cup {m}], m, "heartbeat", 0, 0, 0), net)
    /\ UNCHANGED <<up, todo, restarts>>

\* A node that has asked knows at once that it is answered.
Answered(m) == IF up[m[1]] THEN [Local(m[1]) EXCEPT !.asking = @ \ {m[2]}] ELSE Local(m[1])

Receive ==
    \E m \in Arriving :
        /\ up[m[2]]
        /\ \E state \in IF m[3] = "heartbeat" THEN {Answered(m)} ELSE Received(Local(m[2]), m) : Become(state, Less(net, m))
        /\ UNCHANGED <<up, todo, restarts>>

Fail ==
    \E m \in Arriving :
        /\ ~up[m[2]]
        /\ \E state \in IF up[m[1]] THEN Failed(Local(m[1]), m) ELSE {Local(m[1])} : Become(state, Less(net, m))
        /\ UNCHANGED <<up, todo, restarts>>

Next ==
    \/ \E n \in Node : Command(n)
    \/ \E n \in Node : Heartbeat(n)
    \/ Receive
    \/ Fail

Spec == Init /\ [][Next]_vars

=============================================================================
