------------------------------- MODULE MCPeter -------------------------------
(***************************************************************************)
(* Properties of Peter for the model checker.                              *)
(*                                                                         *)
(* Most of it is about when all is quiet: nothing is under way, no node    *)
(* knows one that has gone, and routes lead to the meeting point. Nodes    *)
(* that are not up are not checked. Models with expected counterexamples   *)
(* use the claims at the end, or replace a definition of Peter by one from *)
(* here.                                                                   *)
(***************************************************************************)
EXTENDS Peter

Up == {n \in Node : up[n]}

Wants(n, t) == IsInterested(Local(n), t)

ChildrenOf(n, t) == Of(children[n], t)

ParentOf(n, t) == Of(parent[n], t)

OfRouting == {"announce", "exit", "tell", "heartbeat"}

Kinds == OfRouting \cup {"subscribe", "unsubscribe", "publish", "notify"}

IsRest(rest) ==
    /\ rest[1] \in Kinds
    /\ IF rest[1] \in OfRouting THEN rest[2] = 0 ELSE rest[2] \in Topic
    /\ rest[3] \in (CASE rest[1] \in {"publish", "notify"} -> PublishedEvent [] rest[1] = "tell" -> Node [] OTHER -> {0})
    /\ IF rest[1] \in {"publish", "notify"} THEN rest[4] \in 0..Cardinality(Node) + MaxHops ELSE rest[4] = 0
    /\ rest[1] = "notify" => rest[4] < MaxHops

\* [PI-01]
TypeOK ==
    /\ restarts = 0
    /\ \A n \in Node :
        /\ local[n] \subseteq Topic
        /\ children[n] \subseteq Topic \X (Node \ {n})
        /\ parent[n] \subseteq Topic \X (Node \ {n})
        /\ \A t \in Topic : Cardinality(ParentOf(n, t)) <= IF Wants(n, t) THEN 1 ELSE 0
        /\ view[n] \subseteq Node \ {n}
        /\ asking[n] \subseteq Beaten[n]
        /\ up[n] \in BOOLEAN
        /\ \E i \in 0..Len(Script[n]) : todo[n] = SubSeq(Script[n], i + 1, Len(Script[n]))
        /\ DOMAIN got[n] \subseteq Topic \X PublishedEvent
        /\ \A which \in DOMAIN got[n] : got[n][which] \in Nat \ {0}
    /\ Size(net) <= MaxNet
    /\ \A m \in net : {m[1], m[2]} \subseteq Node /\ m[1] # m[2]
    /\ IF Fifo
       THEN \A queue \in net :
                Cardinality(QueueOf(net, queue[1], queue[2])) = 1 /\ queue[3] # <<>> /\ \A rest \in Range(queue[3]) : IsRest(rest)
       ELSE \A m \in net : IsRest(Tail(Tail(m)))

-----------------------------------------------------------------------------
\* When all is quiet

Still == net = {}

\* No heartbeat could bring news.
AllNoticed == \A n \in Up : view[n] \subseteq Up

Settled == Still /\ AllNoticed

\* [P-13]
MeetingPoint(t) == Closest(t, Up)

\* By whatever routes there are one comes to the meeting point.
LeadsThere(t) == \A n \in Up \ {MeetingPoint(t)} : Candidates(n, view[n], t) # {}

Quiet(t) == Settled /\ Up # {} /\ LeadsThere(t)

RECURSIVE Below(_, _)
Below(t, nodes) ==
    LET more == nodes \cup (UNION {ChildrenOf(n, t) : n \in nodes} \cap Up)
    IN  IF more = nodes THEN nodes ELSE Below(t, more)

\* The nodes that are reached from the meeting point.
Tree(t) == IF Wants(MeetingPoint(t), t) THEN Below(t, {MeetingPoint(t)}) ELSE {}

\* x is a child of p exactly if p is its parent. [PI-02]
IsMutual(t) == \A p, x \in Up : x \in ChildrenOf(p, t) <=> p \in ParentOf(x, t)

Mutual == Settled => \A t \in Topic : IsMutual(t)

RECURSIVE Above(_, _)
Above(t, nodes) ==
    LET more == nodes \cup UNION {ParentOf(n, t) : n \in nodes} IN IF more = nodes THEN nodes ELSE Above(t, more)

\* At any moment. [PI-03]
Acyclic == \A t \in Topic : \A n \in Node : n \notin Above(t, ParentOf(n, t))

\* A node that wants a topic and has no parent is its meeting point. [PI-03]
IsOneRoot(t) == \A n \in Up : Wants(n, t) => (ParentOf(n, t) = {} <=> n = MeetingPoint(t))

OneRoot == \A t \in Topic : Quiet(t) => IsOneRoot(t)

\* [PI-04]
IsWhole(t) == Tree(t) = {n \in Up : Wants(n, t)}

TreeOfInterested == \A t \in Topic : Quiet(t) => IsWhole(t)

\* [PI-05]
HasNoOrphan(t) == \A n \in Up : t \in local[n] => n \in Tree(t)

NoOrphan == \A t \in Topic : Quiet(t) => HasNoOrphan(t)

\* [PI-06]
HasOneParent(t) == \A x \in Up : Cardinality({p \in Up : x \in ChildrenOf(p, t)}) <= 1

OneParent == Settled => \A t \in Topic : HasOneParent(t)

\* How many copies of an event a node would get from the meeting point, as long as there is no cycle.
RECURSIVE Copies(_, _, _)
Copies(t, n, longest) ==
    IF n = MeetingPoint(t) THEN 1
    ELSE IF longest = 0 THEN 0
    ELSE LET above == {p \in Up : n \in ChildrenOf(p, t)} IN Sum([p \in above |-> Copies(t, p, longest - 1)], above)

\* [PI-07]
HasOneWay(t) ==
    \A n \in Up : LET copies == Copies(t, n, Cardinality(Node)) IN IF t \in local[n] THEN copies = 1 ELSE copies <= 1

OneWay == \A t \in Topic : Quiet(t) => HasOneWay(t)

-----------------------------------------------------------------------------
\* Deliveries

Doings == UNION {Range(Script[n]) : n \in Node}

\* The node, in the order of whose tree alone a publish was, has published.
IsPublished(t, e) == \E n \in Node : <<"publish", t, e>> \in Range(Script[n]) \ Range(todo[n])

Times(n, t, e) == IF <<t, e>> \in DOMAIN got[n] THEN got[n][<<t, e>>] ELSE 0

OnlyPublishes == \A thing \in Doings : thing[1] = "publish"

IsUnderWay(t, e) == \E m \in IF Fifo THEN UNION {{rest : rest \in Range(queue[3])} : queue \in net} ELSE {Tail(Tail(m)) : m \in net} :
    m[2] = t /\ m[3] = e

\* In a tree that does not change every subscriber gets an event once, and no other node does. [PI-07, PL-02]
DeliveredOnce ==
    OnlyPublishes => \A t \in Topic, e \in PublishedEvent : \A n \in Node :
        /\ Times(n, t, e) <= IF IsPublished(t, e) /\ t \in local[n] THEN 1 ELSE 0
        /\ IsPublished(t, e) /\ ~IsUnderWay(t, e) /\ t \in local[n] => Times(n, t, e) = 1

\* Where routes are always the same, no node gets an event twice, even if subscribers come and go.
AtMostOnce ==
    Hops = "closest" /\ (\A thing \in Doings : thing[1] \notin {"join", "leave", "crash"}) =>
        \A n \in Node : \A which \in DOMAIN got[n] : got[n][which] = 1

-----------------------------------------------------------------------------
\* What a node would do now about what arrives, or about what its application asks for next; but for a join of a node that it
\* knows, since a parent then gets SUBSCRIBE again [PA-12].

IsAgain(m) == m[3] = "announce" /\ m[1] \in view[m[2]]

Outcomes(n) ==
    UNION {Received(Local(n), m) : m \in {m \in Arriving : m[2] = n /\ up[n] /\ m[3] # "heartbeat" /\ ~IsAgain(m)}} \cup
    (IF todo[n] # <<>> /\ IsPossible(n, Head(todo[n])) THEN Obeyed(Local(n), Head(todo[n])) ELSE {})

TreeMessages(sent, t) ==
    LET isOf(message) == message[2] \in {"subscribe", "unsubscribe"} /\ message[3] = t IN SelectSeq(sent, isOf)

\* A node that has changed parents has told both: so it sends SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBE, and so on for a topic. It sends
\* no UNSUBSCRIBE to a parent that has gone. [PI-08]
SentFor(before, after) ==
    (IF before = {} THEN <<>> ELSE << <<"unsubscribe", before>> >>) \o (IF after = {} THEN <<>> ELSE << <<"subscribe", after>> >>)

Alternate ==
    \A n \in Up : \A after \in Outcomes(n) : \A t \in Topic :
        LET sent == TreeMessages(after.sent, t)
            expected == IF ParentOf(n, t) = Parent(after, t) THEN <<>>
                        ELSE SentFor(ParentOf(n, t) \cap after.view, Parent(after, t))
        IN  [i \in DOMAIN sent |-> <<sent[i][2], {sent[i][1]}>>] = expected

\* What is under way from a child to a parent, one after the other, makes the one's children of the other's parent. [PI-08]
TreeKinds(x, p, t) ==
    LET isOf(rest) == rest[1] \in {"subscribe", "unsubscribe"} /\ rest[2] = t
        sent == UNION {{SelectSeq(queue[3], isOf)} : queue \in QueueOf(net, x, p)}
    IN  IF sent = {} THEN <<>> ELSE CHOOSE seq \in sent : TRUE

InStep ==
    Fifo /\ (\A thing \in Doings : thing[1] # "tell") => \A x, p \in Up : \A t \in Topic :
        LET sent == TreeKinds(x, p, t)
            isChild == x \in ChildrenOf(p, t)
        IN  /\ \A i \in DOMAIN sent : (sent[i][1] = "subscribe") <=> (isChild <=> i % 2 = 0)
            /\ (p \in ParentOf(x, t)) <=> (isChild <=> Len(sent) % 2 = 0)

\* A node that turns out to have gone is the child or parent of no node any more. [PA-14, PA-28]
GoneForgotten ==
    \A m \in Arriving : ~up[m[2]] /\ up[m[1]] =>
        \A after \in Failed(Local(m[1]), m) :
            /\ m[2] \notin after.view
            /\ m[2] \in view[m[1]] \/ m[4] # 0 => \A t \in Topic : m[2] \notin Children(after, t) \cup Parent(after, t)

\* An event about one topic has nothing to do with another. [PI-09]
IsSame(n, after, t) ==
    /\ t \in after.local <=> t \in local[n]
    /\ Children(after, t) = ChildrenOf(n, t)
    /\ Parent(after, t) = ParentOf(n, t)
    /\ \A message \in Range(after.sent) : message[3] # t

Independent ==
    \A n \in Up :
        /\ \A m \in Arriving : m[2] = n /\ m[4] # 0 =>
            \A after \in Received(Local(n), m) : \A t \in Topic \ {m[4]} : IsSame(n, after, t)
        /\ todo[n] # <<>> /\ Head(todo[n])[1] \in {"subscribe", "unsubscribe", "publish"} =>
            \A after \in Obeyed(Local(n), Head(todo[n])) : \A t \in Topic \ {Head(todo[n])[2]} : IsSame(n, after, t)

-----------------------------------------------------------------------------
\* In the end

\* A question to a node that is up brings no news, and may be asked again for ever.
IsIdle(from, to, rest) == rest[1] = "heartbeat" /\ up[to]

RECURSIVE Worked(_, _, _)
Worked(from, to, seq) ==
    IF seq # <<>> /\ IsIdle(from, to, seq[Len(seq)]) THEN Worked(from, to, SubSeq(seq, 1, Len(seq) - 1)) ELSE seq

\* What is under way, without such questions; but of those in front of something else.
NetAtWork ==
    IF Fifo THEN {queue \in {<<queue[1], queue[2], Worked(queue[1], queue[2], queue[3])>> : queue \in net} : queue[3] # <<>>}
    ELSE {m \in net : ~IsIdle(m[1], m[2], Tail(Tail(m)))}

Work == <<local, children, parent, view, up, todo, got, NetAtWork>>

\* Whether anything but such questions can be done, but for the bounds.
HasWork ==
    \/ NetAtWork # {}
    \/ \E n \in Node : todo[n] # <<>> /\ IsPossible(n, Head(todo[n]))
    \/ \E n \in Up : \E m \in Beaten[n] : m \in view[n] /\ ~up[m] /\ m \notin asking[n]

OnlyBusyStep == [][HasWork]_Work

\* What can be done is done, one time or another, whatever is asked in between.
FairSpec == Init /\ [][Next]_vars /\ ([]<>~HasWork \/ []<><<TRUE>>_Work)

IsRight(t) == Up # {} => IsMutual(t) /\ IsOneRoot(t) /\ IsWhole(t) /\ HasNoOrphan(t) /\ HasOneParent(t) /\ HasOneWay(t)

\* [PL-01]
EventuallyTree == <>[](\A t \in Topic : IsRight(t))

\* [PL-02]
IsDelivered(t, e) == IsPublished(t, e) /\ \A n \in Up : t \in local[n] => Times(n, t, e) >= 1

EventuallyDelivered == \A n \in Node : \A i \in DOMAIN Script[n] :
    Script[n][i][1] = "publish" => <>[]IsDelivered(Script[n][i][2], Script[n][i][3])

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

\* No node wants a topic for others only. [P-11]
NeverForOthers == \A n \in Node : \A t \in Topic : Wants(n, t) => t \in local[n]

\* No child has a sibling. [P-10]
NeverSibling == \A n \in Node : \A t \in Topic : Cardinality(ChildrenOf(n, t)) <= 1

IsOnItsWay(from, to, kind) ==
    IF Fifo THEN \E queue \in QueueOf(net, from, to) : \E rest \in Range(queue[3]) : rest[1] = kind
    ELSE \E m \in net : m[1] = from /\ m[2] = to /\ m[3] = kind

\* No node moves from one parent to another. [P-18]
NeverMoved ==
    \A n, old, new \in Node : old # new => ~(IsOnItsWay(n, old, "unsubscribe") /\ IsOnItsWay(n, new, "subscribe"))

\* No event reaches a node that has no receiver for it. [PA-18]
NeverDropped == \A m \in Arriving : m[3] = "notify" /\ up[m[2]] => Wants(m[2], m[4])

\* No event stops above a node that wants it. [PA-25]
NeverCut ==
    \A m \in Arriving : m[3] = "notify" /\ up[m[2]] => m[6] + 1 < MaxHops \/ ChildrenOf(m[2], m[4]) \subseteq {m[1]}

\* No event comes from a child. [PA-26]
NeverFromChild == \A m \in Arriving : m[3] = "notify" => m[1] \notin ChildrenOf(m[2], m[4])

\* No node subscribes in the step in which it joins. [PA-27]
NeverAsItJoins == \A n, m \in Node : ~(IsOnItsWay(n, m, "announce") /\ IsOnItsWay(n, m, "subscribe"))

\* A message that does not arrive was always for a node that its sender thought to be up. [PA-28]
NeverUnknown ==
    \A m \in Arriving : ~up[m[2]] /\ up[m[1]] /\ m[3] \in {"subscribe", "unsubscribe", "notify"} => m[2] \in view[m[1]]

\* No node that knows a joiner is told that it has joined. [PA-12]
NeverKnownBefore == \A m \in Arriving : up[m[2]] => ~IsAgain(m)

\* No node has a child that has gone, when all else is settled. [PA-14]
NeverGhost == Settled => \A n \in Up : \A t \in Topic : ChildrenOf(n, t) \subseteq Up

-----------------------------------------------------------------------------
\* Counterexamples: false claims, and definitions by which they hold

\* Only what the document says: a node reports its own interest and its children's interest separately. [PX-01]
LiteralInterests(state, t) == <<t \in state.local, Children(state, t) # {}>>

\* Towards the topic, as the document says, and so to the node that is the next hop now. [PX-04]
RoutedUnsubscribe(state, t) == IF Parent(state, t) = {} THEN {} ELSE NextHops(state, t)

\* A node that has subscribed at first, and is still there, has got all that has been published. [PX-05]
NothingLost ==
    Settled => \A t \in Topic, e \in PublishedEvent : IsPublished(t, e) => \A n \in Up \cap Subscribers[t] :
        t \in local[n] => Times(n, t, e) >= 1

\* No node gets an event twice, whatever happens. [PX-05]
NothingTwice == \A n \in Node : \A which \in DOMAIN got[n] : got[n][which] = 1

\* A node that knows others than before does nothing about it. [PA-27]
LeftAtThat(before, states) == states

\* A node that knows others than before looks for a parent only where it has none. [PX-08]
KeepsParents(before, states) == UNION {IF state.view = before.view THEN {state} ELSE Joined(state, {}) : state \in states}

\* Whether or not routes lead to the meeting point. [PX-06]
NoOrphanAnywhere == Settled => \A t \in Topic : HasNoOrphan(t)

=============================================================================
