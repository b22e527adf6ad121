----------------------------- MODULE PeterTrace -----------------------------
(***************************************************************************)
(* Are the steps of recorded nodes steps of Peter?                         *)
(*                                                                         *)
(* The same operators that are model-checked say what a node does with its *)
(* trees; what they abstract from is given to them here: topics are ids of *)
(* real texts, events are values with their publishers, and next hops are  *)
(* those that the trace shows (PeterTrace.cfg). Each node is checked by    *)
(* its own lines. The only behaviour goes through the traces, one event    *)
(* after the other, and says of each that departs where it does so; what   *)
(* follows there is passed over up to the next start.                      *)
(*                                                                         *)
(* Compared are: the numbers of the lines; SUBSCRIBE, UNSUBSCRIBE, PUBLISH *)
(* and NOTIFY with topic, event, count of hops, the Sender's id, addressee *)
(* and order; the events that are delivered; and refusals of what concerns *)
(* topics. What Wendy does is taken from the trace as it is given: which   *)
(* nodes have joined and exited, and when the node itself has; its own     *)
(* messages, timers and refusals; and the rest of each header.             *)
(*                                                                         *)
(* Next hops are left open. A node that may send a SUBSCRIBE or a PUBLISH  *)
(* may send it to any node of which tables have told it, or none: then it  *)
(* takes itself for the meeting point. Whenever Wendy's tables may have    *)
(* changed, any of its topics may get a new parent [PA-27]. An address can *)
(* be that of several nodes, so that a node may be in several states as    *)
(* far as its trace shows; it departs where none of them is left.          *)
(*                                                                         *)
(* Fingerprints of states are not compared. PeterTrace.json has all this   *)
(* for programs that compare verdicts.                                     *)
(***************************************************************************)
EXTENDS Peter, TraceData

VARIABLES
    at,        \* the event that comes next
    trace,     \* the trace that the last event was of
    nextSeq,   \* the number that its next line must have; -1 before the first
    lost,      \* whether it has departed since its last start
    config,    \* its configuration since then
    stage,     \* "ring": alone or joined; "joining"; "left"
    known,     \* the nodes of which tables have told it: <<id, local host, global host, port, region>> [WA-52]
    possible   \* the states in which its trees may be; none before it has started

-----------------------------------------------------------------------------
\* Strings of Wendy's

Empty(string) == StringSize(string) = 0

HexDigit(number) == IF number < 10 THEN 48 + number ELSE 87 + number

\* [WA-49]
Hex(bytes) ==
    [i \in 1..2 * Len(bytes) |->
        LET byte == bytes[(i + 1) \div 2] IN HexDigit(IF i % 2 = 1 THEN byte \div 16 ELSE byte % 16)]

RECURSIVE Digits(_)
Digits(number) == IF number < 10 THEN <<48 + number>> ELSE Digits(number \div 10) \o <<48 + (number % 10)>>

\* An address that no trace has is 0: nothing is sent to it.
NoAddress == -1

\* `host:port`, or `[host]:port` if the host has a colon [WA-52]
Address(host, port) ==
    LET bytes == StringBytes(host)
        shown == IF 58 \in Range(bytes) THEN <<91>> \o bytes \o <<93>> ELSE bytes
    IN  IF bytes = <<>> \/ port = 0 THEN NoAddress ELSE StringOf(shown \o <<58>> \o Digits(port))

\* The local host within the own region, otherwise the global one; if that is empty, the other. [WA-52]
AddressOf(node) ==
    LET first == IF node[5] = config.region THEN node[2] ELSE node[3]
        other == IF node[5] = config.region THEN node[3] ELSE node[2]
    IN  Address(IF Empty(first) THEN other ELSE first, node[4])

IdsAt(nodes, address) == {node[1] : node \in {node \in nodes : AddressOf(node) = address}}

\* The nodes of tables, and who has sent them. [WA-34]
NodesOf(message) ==
    IF message.type \notin {"state_data", "node_race", "node_announcement"} THEN {}
    ELSE LET tables == message.tables
             leaves == Range(tables[2])
         IN  {message.header.sender}
             \cup {entry[3] : entry \in UNION {Range(entries) : entries \in Range(tables[1])}}
             \cup UNION {Range(leaf[1]) \cup Range(leaf[2]) : leaf \in leaves}
             \cup UNION {Range(nodes) : nodes \in Range(tables[3])}

-----------------------------------------------------------------------------
\* Topics

First16(string) == SubSeq(StringBytes(string), 1, 16)

IsTopic(string) == StringSize(string) >= 16

\* The first 16 bytes of a topic's UTF-8, most significant first. An id that no trace has is a number of its own, below those of
\* strings. [PA-01, PA-03]
IdOfTopic(topic) ==
    LET first == First16(topic)
        id    == StringOf(Hex(first))
    IN  IF id # 0 THEN id
        ELSE 0 - CHOOSE string \in 1..StringCount : IsTopic(string) /\ First16(string) = first

\* A surrogate has none. [PA-03]
HasUtf8(topic) ==
    LET bytes == StringBytes(topic) IN \A i \in 1..Len(bytes) - 1 : ~(bytes[i] = 237 /\ bytes[i + 1] >= 160)

TopicRefused(topic) ==
    IF ~HasUtf8(topic) THEN "bad_value" ELSE IF ~IsTopic(topic) THEN "short_topic" ELSE ""

\* The topics of which a node keeps something. [PA-04, PA-11]
TopicsOf(state) == state.local \cup {pair[1] : pair \in state.children}

-----------------------------------------------------------------------------
\* What a node is seen to do with its trees, between what Wendy reports.

KindOf(effect) ==
    CASE effect.effect = "send"   -> effect.message.type
      [] effect.effect = "notify" -> effect.notice.type
      [] OTHER                    -> effect.effect

Messages == {"subscribe", "unsubscribe", "publish", "notify"}

Reports == {"node_joined", "node_exited", "joined"}

\* Whether the application is told of a message that is Peter's. It never is. [PA-31]
IsShown(effect) == KindOf(effect) \in {"delivered", "forwarding"} /\ effect.notice.message.purpose \in 17..20

IsSeen(effect) == KindOf(effect) \in Messages \cup Reports \cup {"update"} \/ IsShown(effect)

\* `ids`: of the nodes that the message may be for.
Sight(effect, nodes) ==
    LET nothing == [kind |-> KindOf(effect), topic |-> 0, hop |-> 0, from |-> 0, value |-> 0, to |-> 0, ids |-> {}]
    IN  CASE effect.effect = "send" ->
                 LET message == effect.message
                     header  == message.header
                 IN  [nothing EXCEPT
                         !.topic = header.key, !.hop = header.hop, !.from = header.sender[1], !.to = effect.to,
                         !.value = IF message.type \in {"publish", "notify"} THEN message.value ELSE 0,
                         !.ids = IF message.type \in {"subscribe", "publish"} THEN IdsAt(nodes, effect.to) ELSE {}]
          [] KindOf(effect) = "update" -> [nothing EXCEPT !.topic = effect.notice.topic, !.value = effect.notice.value]
          [] KindOf(effect) \in {"node_joined", "node_exited"} -> [nothing EXCEPT !.from = effect.notice.node[1]]
          [] OTHER -> nothing

SightsOf(effects, nodes) ==
    LET seen == SelectSeq(effects, IsSeen) IN [i \in DOMAIN seen |-> Sight(seen[i], nodes)]

\* The next hops that are seen: of a topic that is not here there is none, or it makes no difference.
SeenHops(sights) == UNION {{sight.topic} \X sight.ids : sight \in Range(sights)}

\* In place of those of the model: here `view` is what SeenHops gives.
TraceNextHops(state, t) == Of(state.view, t)

\* In place of that of the model, which counts: here a delivery has its place between the messages.
TraceGot(state, t, e) == Send(state, 0, "update", t, e, 0)

-----------------------------------------------------------------------------
\* States of a node: those of the model, and the addresses of its children, <<topic, child, address>>, and parents,
\* <<topic, address>>.

NewNode(id) ==
    [id |-> id, local |-> {}, children |-> {}, parent |-> {}, view |-> {}, asking |-> {}, got |-> <<>>, sent |-> <<>>,
     chosen |-> <<>>, below |-> {}, above |-> {}]

\* Where its parents for a topic have been, from before the event up to its end.
Above(state, t, sights) ==
    Of(state.above, t) \cup {sight.to : sight \in {sight \in Range(sights) : sight.kind = "subscribe" /\ sight.topic = t}}

\* Whether this is what the node was seen to do. A message that it has made is from itself [PA-08]; a PUBLISH that passes by
\* stays the publisher's [PA-16].
IsSight(state, sent, sight, sights) ==
    LET to    == sent[1]
        kind  == sent[2]
        t     == sent[3]
        event == sent[4]
    IN  /\ sight.kind = kind
        /\ sight.topic = t
        /\ sight.hop = sent[5]
        /\ CASE kind \in Reports      -> sight.from = to
             [] kind = "subscribe"   -> sight.from = state.id /\ to \in sight.ids
             [] kind = "unsubscribe" -> sight.from = state.id /\ sight.to \in Above(state, t, sights)
             [] kind = "publish"     -> sight.from = event.publisher /\ sight.value = event.value /\ to \in sight.ids
             [] kind = "notify"      -> sight.from = state.id /\ sight.value = event.value /\ <<t, to, sight.to>> \in state.below
             [] kind = "update"      -> sight.value = event.value

IsSoFar(state, sights) ==
    /\ Len(state.sent) <= Len(sights)
    /\ \A i \in DOMAIN state.sent : IsSight(state, state.sent[i], sights[i], sights)

IsAll(state, sights) == Len(state.sent) = Len(sights) /\ IsSoFar(state, sights)

RECURSIVE LastTo(_, _)
LastTo(t, sights) ==
    LET last == sights[Len(sights)]
    IN  IF last.kind = "subscribe" /\ last.topic = t THEN last.to ELSE LastTo(t, SubSeq(sights, 1, Len(sights) - 1))

IsSubscribedTo(t, sights) == \E i \in DOMAIN sights : sights[i].kind = "subscribe" /\ sights[i].topic = t

\* The state with which the next event begins.
Settled(state, sights) ==
    [state EXCEPT
        !.view = {}, !.sent = <<>>, !.chosen = <<>>,
        !.below = {place \in @ : <<place[1], place[2]>> \in state.children},
        !.above = UNION {
            IF IsSubscribedTo(t, sights) THEN {<<t, LastTo(t, sights)>>} ELSE {pair \in @ : pair[1] = t} :
                t \in {pair[1] : pair \in state.parent}}]

-----------------------------------------------------------------------------
\* What Wendy reports, one after the other.

Reported(state, sight) == Send(state, sight.from, sight.kind, 0, 0, 0)

\* [P-14…P-19, PA-27]
Reacted(state, sight, sights) ==
    LET after == Reported(state, sight)
    IN  CASE sight.kind = "node_joined" -> InTurn("node joined", sight.from, {after}, TopicsOf(after))
          [] sight.kind = "node_exited" -> InTurn("node exited", sight.from, {after}, TopicsOf(after))
          [] sight.kind = "joined"      ->
                 InTurn("joined", {pair[2] : pair \in SeenHops(sights)}, {after}, TopicsOf(after))

RECURSIVE AfterReports(_, _, _)
AfterReports(states, reports, sights) ==
    IF reports = <<>> THEN states
    ELSE LET after == UNION {Reacted(state, Head(reports), sights) : state \in states}
         IN  AfterReports({state \in after : IsSoFar(state, sights)}, Tail(reports), sights)

IsReport(sight) == sight.kind \in Reports

\* The tables may have changed; which of the next hops are new in them is not seen. [PA-27]
LookedAgain(state, sights) ==
    LET subscribed == {sight \in Range(sights) : sight.kind = "subscribe"}
        hops       == UNION {sight.ids : sight \in subscribed}
    IN  IF Len(state.sent) = Len(sights) THEN {state}
        ELSE {state} \cup UNION {InTurn("joined", new, {state}, TopicsOf(state)) : new \in SUBSET hops}

\* Where Wendy's tables may change. Of a node that is joining no topic is looked at. [PA-27]
Overlaid(states, sights, after) ==
    IF after = "ring" THEN UNION {LookedAgain(state, sights) : state \in states} ELSE states

-----------------------------------------------------------------------------
\* A message of the tree, or an event, that arrives.

MaxCount == 2147483647   \* [WA-56]

MaxChildren == 65536     \* [PA-29]

\* What an application routes with a purpose of Peter's is Peter's. [PA-31]
KindOfMessage(message) ==
    IF message.type = "application" /\ message.purpose \in 17..20
    THEN <<"subscribe", "unsubscribe", "publish", "notify">>[message.purpose - 16]
    ELSE message.type

ValueOf(message) ==
    IF message.type # "application" THEN message.value
    ELSE IF message.value = <<>> THEN StringOf(<<>>) ELSE message.value[1]

EventOf(message) ==
    IF KindOfMessage(message) \in {"publish", "notify"}
    THEN [value |-> ValueOf(message), publisher |-> message.header.sender[1]]
    ELSE 0

\* A SUBSCRIBE that is ignored. [PA-29, PA-30, WA-52]
IsIgnored(e, state, header) ==
    LET child == <<header.key, header.sender[1]>>
    IN  \/ header.sender[1] = state.id
        \/ AddressOf(header.sender) \in {NoAddress, e.node}
        \/ child \notin state.children /\ Cardinality(state.children) >= MaxChildren

\* The latest address of a child counts. [PA-30]
WithAddress(state, t, child, address) ==
    [state EXCEPT !.below = {place \in @ : place[1] # t \/ place[2] # child} \cup {<<t, child, address>>}]

Arrived(e, state) ==
    LET header == e.args.header
        kind   == KindOfMessage(e.args)
        from   == header.sender[1]
        hop    == IF header.hop = MaxCount THEN MaxCount - 1 ELSE header.hop
        m      == <<from, state.id, kind, header.key, EventOf(e.args), hop>>
    IN  IF kind # "subscribe" THEN IF kind # "publish" /\ from = state.id THEN {state} ELSE Received(state, m)   \* [PA-30]
        ELSE IF IsIgnored(e, state, header) THEN {state}
        ELSE Received(WithAddress(state, header.key, from, AddressOf(header.sender)), m)

-----------------------------------------------------------------------------
\* A message of the tree, or an event, that does not arrive.

\* Children and parents at this address; not a parent that is new. [PA-28]
GoneAt(before, state, t, address) ==
    {child \in Children(state, t) : <<t, child, address>> \in state.below}
    \cup IF address \in Of(before.above, t) THEN Parent(before, t) \cap Parent(state, t) ELSE {}

RECURSIVE RepairedAll(_, _, _)
RepairedAll(states, t, gone) ==
    IF gone = {} THEN states
    ELSE LET id == Least(gone)
         IN  RepairedAll(UNION {Repaired(state, t, id) : state \in states}, t, gone \ {id})

\* [PA-28, PA-33]
RECURSIVE Departed(_, _, _, _)
Departed(before, states, address, topics) ==
    IF topics = {} THEN states
    ELSE LET t     == Least(topics)
             after == UNION {RepairedAll({state}, t, GoneAt(before, state, t, address)) : state \in states}
         IN  Departed(before, after, address, topics \ {t})

\* In the model one node departs at a time, from its only address. Where a parent and other nodes of its tree do at once, because
\* they had one address and Wendy did not know the parent any more, it does not say what follows; nor where the parent is a child,
\* too, and only one of its two addresses is this one.
WhyOpen(before, t, address, exited) ==
    LET gone   == GoneAt(before, before, t, address) \ exited
        above  == Parent(before, t) \cap gone
        both   == Parent(before, t) \cap Children(before, t) \cap gone
    IN  IF above # {} /\ gone # above THEN "several nodes of a tree were at the address of its parent"
        ELSE IF \E id \in both : <<t, id, address>> \notin before.below \/ address \notin Of(before.above, t)
        THEN "a parent that is a child, too, had two addresses"
        ELSE ""

\* Why the event cannot be judged; "" if it can.
WhyUndetermined(e) ==
    IF e.kind # "sent" \/ e.args.took # <<>> \/ KindOfMessage(e.args.message) \notin Messages THEN ""
    ELSE LET exited == {effect.notice.node[1] : effect \in {effect \in Range(e.effects) : KindOf(effect) = "node_exited"}}
             whys   == UNION {{WhyOpen(state, t, e.peer, exited) : t \in TopicsOf(state)} : state \in possible} \ {""}
         IN  IF whys = {} THEN "" ELSE CHOOSE why \in whys : TRUE

\* The PUBLISH goes another way, and is not counted again. [PA-28, WA-33, WA-56]
NotArrived(e, before, states) ==
    LET message == e.args.message
        after   == UNION {Departed(before, {state}, e.peer, TopicsOf(state)) : state \in states}
    IN  IF KindOfMessage(message) # "publish" THEN after
        ELSE UNION {Routed(state, message.header.key, EventOf(message), message.header.hop) : state \in after}

-----------------------------------------------------------------------------
\* Events

\* [WA-53]
IsAdmitted(e) == config.credentials = <<>> \/ e.args.header.credentials = config.credentials

IsOfTrees(e) ==
    CASE e.kind = "recv" -> KindOfMessage(e.args) \in Messages
      [] e.kind = "sent" -> KindOfMessage(e.args.message) \in Messages
      [] e.kind = "api"  -> e.args.type \in {"subscribe", "unsubscribe", "publish"}
      [] OTHER           -> FALSE

Commanded(state, command) ==
    IF command.type = "publish"
    THEN Obeyed(state, <<"publish", IdOfTopic(command.topic), [value |-> command.value, publisher |-> state.id]>>)
    ELSE Obeyed(state, <<command.type, IdOfTopic(command.topic), 0>>)

\* What Peter does after what Wendy reports.
AfterWendy(e, state, sights, after) ==
    LET reports  == SelectSeq(sights, IsReport)
        reported == AfterReports({state}, reports, sights)
    IN  Overlaid(
            IF e.kind = "sent" /\ IsOfTrees(e) /\ e.args.took = <<>> THEN NotArrived(e, state, reported) ELSE reported,
            sights, after)

Outcomes(e, state, sights, after) ==
    CASE stage = "left"                      -> {state}   \* [PA-32]
      [] e.kind = "recv" /\ ~IsAdmitted(e)   -> {state}
      [] e.kind = "recv" /\ IsOfTrees(e)     -> Arrived(e, state)
      [] e.kind = "api" /\ IsOfTrees(e)      -> Commanded(state, e.args)
      [] e.kind = "api" /\ ~IsOfTrees(e)     -> {state}
      [] OTHER                               -> AfterWendy(e, state, sights, after)

\* [WA-72, PA-32]
StageAfter(e) ==
    LET reported == {KindOf(effect) : effect \in Range(e.effects)}
    IN  IF e.refused # "" THEN stage
        ELSE IF e.kind = "start" THEN "ring"
        ELSE IF stage = "left" THEN "left"
        ELSE IF e.kind = "api" /\ e.args.type = "leave" THEN "left"
        ELSE IF e.kind = "api" /\ e.args.type = "join" THEN "joining"
        ELSE IF reported \cap {"joined", "join_failed"} # {} THEN "ring"
        ELSE stage

\* What the node knows after the event.
KnownAfter(e) ==
    IF e.kind = "start" THEN {}
    ELSE IF e.kind = "recv" /\ stage # "left" /\ IsAdmitted(e) THEN known \cup NodesOf(e.args)
    ELSE known

\* The states in which the node may be after an event that is no start and was not refused.
StatesAfter(e) ==
    LET sights == SightsOf(e.effects, KnownAfter(e))
        before == {[state EXCEPT !.view = SeenHops(sights)] : state \in possible}
        after  == UNION {Outcomes(e, state, sights, StageAfter(e)) : state \in before}
    IN  {Settled(state, sights) : state \in {state \in after : IsAll(state, sights)}}

-----------------------------------------------------------------------------
\* Refusals

MaxValue == 524288   \* bytes, each of two hexadecimal digits [WA-66]

\* "" if the command is accepted; where it is Wendy who refuses, what the trace has.
Refused(e) ==
    IF e.kind = "start" THEN e.refused
    ELSE IF e.kind # "api" THEN ""
    ELSE IF stage = "left" THEN "left"   \* [PA-32, WA-62]
    ELSE CASE e.args.type \in {"subscribe", "unsubscribe"} -> TopicRefused(e.args.topic)   \* [PA-02, PA-03]
           [] e.args.type = "publish" ->
                 IF TopicRefused(e.args.topic) # "" THEN TopicRefused(e.args.topic)
                 ELSE IF StringSize(e.args.value) > 2 * MaxValue THEN "too_large" ELSE ""
           [] e.args.type = "route" -> IF e.args.purpose \in 17..20 THEN "reserved" ELSE e.refused   \* [PA-31]
           [] e.args.type = "join"  -> e.refused
           [] e.args.type = "leave" -> ""

-----------------------------------------------------------------------------
\* What is wrong with an event; "" if nothing is.

WhatIsWrong(e, expected, states) ==
    IF e.seq # expected THEN "seq"
    ELSE IF e.readable # "yes" \/ (e.kind # "start" /\ possible = {}) THEN "args"
    ELSE IF e.picks # <<>> THEN "picks"
    ELSE IF e.refused # Refused(e) THEN "refused"
    ELSE IF e.refused # "" THEN IF e.effects # <<>> THEN "effects" ELSE ""
    ELSE IF states = {} THEN "effects"
    ELSE ""

\* The same after any event.
StatesOf(e, isNew) ==
    IF e.readable # "yes" \/ e.refused # "" THEN IF isNew THEN {} ELSE possible
    ELSE IF e.kind # "start" THEN StatesAfter(e)
    ELSE IF SightsOf(e.effects, {}) = <<>> THEN {NewNode(e.args.id)} ELSE {}

-----------------------------------------------------------------------------

Unconfigured == [credentials |-> <<>>, region |-> 0]

TraceInit ==
    /\ at = 1
    /\ trace = 0
    /\ nextSeq = -1
    /\ lost = FALSE
    /\ config = Unconfigured
    /\ stage = "ring"
    /\ known = {}
    /\ possible = {}
    /\ local = <<>> /\ children = <<>> /\ parent = <<>> /\ view = <<>> /\ asking = <<>> /\ up = <<>> /\ todo = <<>> /\ got = <<>>
    /\ restarts = 0
    /\ net = {}

\* A node begins with its first line, and again with the first start after it has departed.
IsBeginning(e) == e.kind = "start" /\ (e.trace # trace \/ lost \/ nextSeq < 0)

IsPassedOver(e) == e.trace = trace /\ lost /\ ~IsBeginning(e)

Take(e) ==
    LET isNew    == e.trace # trace
        expected == IF IsBeginning(e) THEN e.seq ELSE IF isNew THEN 0 ELSE nextSeq
        isBegun  == e.kind = "start" \/ ~isNew
        why      == IF isBegun /\ e.seq = expected /\ e.readable = "yes" THEN WhyUndetermined(e) ELSE ""
        states   == IF isBegun /\ why = "" THEN StatesOf(e, isNew) ELSE {}
        wrong    == IF why # "" THEN ""
                    ELSE IF ~isBegun THEN IF e.seq # 0 THEN "seq" ELSE "args"
                    ELSE WhatIsWrong(e, expected, states)
    IN  /\ trace' = e.trace
        /\ nextSeq' = e.seq + 1
        /\ lost' = (why # "" \/ wrong # "")
        /\ config' = IF ~isBegun THEN Unconfigured
                     ELSE IF e.kind = "start" /\ e.readable = "yes" /\ e.refused = "" THEN e.args
                     ELSE config
        /\ stage' = IF lost' THEN "ring" ELSE StageAfter(e)
        /\ known' = IF lost' THEN {} ELSE KnownAfter(e)
        /\ possible' = IF lost' THEN {} ELSE states
        /\ why # "" => PrintT(<<"undetermined", at, e.trace, e.seq, why>>)
        /\ wrong # "" => PrintT(<<"departs", at, e.trace, e.seq, wrong>>)

TraceNext ==
    /\ at <= EventCount
    /\ at' = at + 1
    /\ LET e == Event(at)
       IN  IF IsPassedOver(e) THEN UNCHANGED <<trace, nextSeq, lost, config, stage, known, possible>> ELSE Take(e)
    /\ UNCHANGED vars

\* Where it is says which state it is.
Position == at

=============================================================================
