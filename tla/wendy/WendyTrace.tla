----------------------------- MODULE WendyTrace -----------------------------
(***************************************************************************)
(* Are the steps of recorded nodes steps of Wendy?                         *)
(*                                                                         *)
(* The same operators that are model-checked say what a node keeps in its  *)
(* tables, sends, and passes on. Ids have 128 bits here, and distances are *)
(* sequences of numbers (WendyTrace.cfg); what a table has room for, is in *)
(* the node's configuration. Each node is checked by its own lines. The    *)
(* only behaviour goes through the traces, one event after the other, and  *)
(* says of each that departs where it does so; what follows there is       *)
(* passed over up to the next start.                                       *)
(*                                                                         *)
(* Compared are: the numbers of the lines, messages sent, with addressees  *)
(* and all that is in them, and so the tables, scores and versions as far  *)
(* as messages show them; refusals, timers that are set, the timers that a *)
(* node which leaves must stop, and all notices. Not compared are: the     *)
(* order of effects, of which no clause speaks; that the timer of a repair *)
(* which is over is stopped, because it would do nothing; and fingerprints *)
(* of states. WendyTrace.json has this for programs that compare verdicts. *)
(*                                                                         *)
(* In Wendy an id has one address for ever. So there is no verdict from    *)
(* the event on which two ids have one address, or one id has two, or a    *)
(* node has none [WA-52, WA-68]; nor for a ring of another size, two-sided *)
(* leaf sets [WA-05], cells that are not in the order of the wire, and     *)
(* counts beyond the limits of WA-30, WA-54 and WA-56.                     *)
(***************************************************************************)
EXTENDS Wendy, TraceData

VARIABLES
    at,        \* the event that comes next
    trace,     \* the trace that the last event was of
    nextSeq,   \* the number that its next line must have; -1 before the first
    lost,      \* whether it has departed since its last start, or there is no verdict any more
    config,    \* its configuration since then
    node,      \* what Wendy keeps of it, as in Local; <<>> before its start
    book       \* what it has heard of: id -> its record and its address

-----------------------------------------------------------------------------
\* Ids of 128 bits. An id is the string of its 32 digits. Its number, and a distance, are five parts of four and of seven digits,
\* the most significant first.

TraceId == 1..StringCount

HexDigits == (48..57) \cup (97..102)

IsId(string) == StringSize(string) = 32 /\ Range(StringBytes(string)) \subseteq HexDigits

\* Of four digits, and of seven.
TopSize == 65536

PartSize == 268435456

\* Of the character 0 to 9 or a to f.
DigitValue(byte) == IF byte < 58 THEN byte - 48 ELSE byte - 87

RECURSIVE Value(_)
Value(digits) == IF digits = <<>> THEN 0 ELSE 16 * Value(SubSeq(digits, 1, Len(digits) - 1)) + Last(digits)

\* The digits of each id, and its parts. TLC computes both once, as long as no parameter of what they call is named like a variable.
IdDigits ==
    [string \in 1..StringCount |->
        IF IsId(string) THEN LET bytes == StringBytes(string) IN [i \in 1..32 |-> DigitValue(bytes[i])] ELSE <<>>]

IdParts ==
    [string \in 1..StringCount |->
        IF IsId(string)
        THEN LET digits == IdDigits[string]
             IN  << Value(SubSeq(digits, 1, 4)), Value(SubSeq(digits, 5, 11)), Value(SubSeq(digits, 12, 18)),
                    Value(SubSeq(digits, 19, 25)), Value(SubSeq(digits, 26, 32)) >>
        ELSE <<>>]

\* Modulo 2^128, part by part, with what is borrowed from the part before. [WA-02]
TraceClockwise(a, b) ==
    LET from == IdParts[a]
        to == IdParts[b]
        Borrowed(difference) == IF difference < 0 THEN 1 ELSE 0
        part5 == to[5] - from[5]
        part4 == to[4] - from[4] - Borrowed(part5)
        part3 == to[3] - from[3] - Borrowed(part4)
        part2 == to[2] - from[2] - Borrowed(part3)
        part1 == to[1] - from[1] - Borrowed(part2)
    IN  <<part1 % TopSize, part2 % PartSize, part3 % PartSize, part4 % PartSize, part5 % PartSize>>

TraceAtMost(one, other) ==
    IF one[1] # other[1] THEN one[1] < other[1]
    ELSE IF one[2] # other[2] THEN one[2] < other[2]
    ELSE IF one[3] # other[3] THEN one[3] < other[3]
    ELSE IF one[4] # other[4] THEN one[4] < other[4]
    ELSE one[5] <= other[5]

TraceHalf == <<2^15, 0, 0, 0, 0>>

TraceDigit(id, i) == IdDigits[id][i + 1]

\* Room in tables; the node's own configuration.
TraceSideLimit(n) == config.leaf_set_side

TraceNeighborhoodLimit(n) == config.neighborhood_set

-----------------------------------------------------------------------------
\* Addresses. A record of a node is <<id, local host, global host, port, region>>. [WA-52]

IsEmpty(string) == StringSize(string) = 0

Colon == 58

Brackets == <<91, 93>>

RECURSIVE Decimal(_)
Decimal(number) == (IF number < 10 THEN <<>> ELSE Decimal(number \div 10)) \o <<48 + (number % 10)>>

\* The local host within the own region, otherwise the global one; if that is empty, the other.
HostOf(record) ==
    LET isNear == record[5] = config.region
    IN  IF (isNear /\ ~IsEmpty(record[2])) \/ IsEmpty(record[3]) THEN record[2] ELSE record[3]

Place(record) == <<HostOf(record), record[4]>>

HasAddress(record) == ~IsEmpty(HostOf(record)) /\ record[4] # 0

\* 0 if no string of the traces is this address: then nothing is sent there.
AddressOf(record) ==
    LET host == StringBytes(HostOf(record))
        quoted == IF Colon \in Range(host) THEN <<Brackets[1]>> \o host \o <<Brackets[2]>> ELSE host
    IN  StringOf(quoted \o <<Colon>> \o Decimal(record[4]))

RECURSIVE Number(_)
Number(digits) == IF digits = <<>> THEN 0 ELSE 10 * Number(SubSeq(digits, 1, Len(digits) - 1)) + Last(digits) - 48

\* The record of a node that starts, whose address is `host:port` or `[host]:port`; <<>> if it is not written like that.
OwnRecord(e) ==
    LET bytes == StringBytes(e.node)
        colons == {i \in DOMAIN bytes : bytes[i] = Colon}
        colon == CHOOSE i \in colons : \A j \in colons : j <= i
        before == SubSeq(bytes, 1, colon - 1)
        isQuoted == Len(before) > 2 /\ before[1] = Brackets[1] /\ Last(before) = Brackets[2]
        host == IF isQuoted THEN SubSeq(before, 2, Len(before) - 1) ELSE before
        port == SubSeq(bytes, colon + 1, Len(bytes))
        isPort == Len(port) \in 1..5 /\ (\A i \in DOMAIN port : port[i] \in 48..57) /\ port[1] # 48
        isHost == host # <<>> /\ (isQuoted <=> Colon \in Range(host))
        global == IF IsEmpty(e.args.global_ip) THEN StringOf(host) ELSE e.args.global_ip
    IN  IF colons = {} \/ ~isPort \/ ~isHost THEN <<>>
        ELSE <<e.args.id, StringOf(host), global, Number(port), e.args.region>>

\* What is heard of a node, with this event.
Record(id) == book'[id][1]

Address(id) == IF id < 0 THEN -id ELSE book'[id][2]

\* Which node is there: its id, or minus the address if none is known to be.
IdAt(places, address) ==
    LET there == {id \in DOMAIN places : places[id][2] = address}
    IN  IF there = {} THEN -address ELSE CHOOSE id \in there : TRUE

At(address) == IdAt(book', address)

-----------------------------------------------------------------------------
\* Messages of traces as those of Wendy

Kinds ==
    [node_join |-> "join", node_exit |-> "exit", heartbeat |-> "heartbeat", state_data |-> "state", state_request |-> "repair",
     node_race |-> "race", node_repair |-> "repair", node_announcement |-> "announce", application |-> "application"]

IsApplication(message) == message.type = "application"

HasTables(message) == message.type \in {"state_data", "node_race", "node_announcement"}

Ids(records) == [i \in DOMAIN records |-> records[i][1]]

IdTables(tables) ==
    << IF tables[RT] = <<>> THEN <<>> ELSE << {<<entry[1], entry[2], entry[3][1]>> : entry \in Range(tables[RT][1])} >>,
       IF tables[LS] = <<>> THEN <<>> ELSE << <<Ids(tables[LS][1][1]), Ids(tables[LS][1][2])>> >>,
       IF tables[NS] = <<>> THEN <<>> ELSE <<Ids(tables[NS][1])>> >>

\* A mask is the same here and there. What is passed on is kept whole.
Body(message) ==
    CASE message.type = "state_data" -> Append(IdTables(message.tables), message.destination)
      [] message.type \in {"node_race", "node_announcement"} -> IdTables(message.tables)
      [] message.type \in {"state_request", "node_repair"} -> message.mask
      [] message.type \in {"node_join", "application"} -> message
      [] OTHER -> <<>>

MessageOf(from, to, message) ==
    LET header == message.header
    IN  <<from, to, Kinds[message.type], header.sender[1], header.key, header.versions, header.hop, Body(message)>>

\* As they are in a cell each, one after the other. [WA-60]
IsInOrder(entries) ==
    \A i \in 1..(Len(entries) - 1) :
        LET one == entries[i]
            other == entries[i + 1]
        IN  one[1] < other[1] \/ (one[1] = other[1] /\ one[2] < other[2])

EntriesOf(tables) == IF tables[RT] = <<>> THEN <<>> ELSE tables[RT][1]

RecordsOf(tables) ==
    {entry[3] : entry \in Range(EntriesOf(tables))}
    \cup (IF tables[LS] = <<>> THEN {} ELSE Leaves(tables[LS][1]))
    \cup (IF tables[NS] = <<>> THEN {} ELSE Range(tables[NS][1]))

-----------------------------------------------------------------------------
\* What a node is seen to do

Content(message) ==
    CASE message.type \in {"node_join", "node_exit", "heartbeat"} -> <<>>
      [] IsApplication(message) -> <<message.purpose, message.value>>
      [] OTHER -> Body(message)

Sending(to, message) == <<"send", to, message.type, message.header, Content(message)>>

Seen(effect) ==
    CASE effect.effect = "send" -> Sending(effect.to, effect.message)
      [] effect.effect = "set_timer" -> <<"set_timer", effect.timer, effect.after>>
      [] effect.effect = "notify" -> <<"notify", effect.notice>>

IsCancelled(effect) == effect.effect = "cancel_timer"

IsDone(effect) == ~IsCancelled(effect)

\* Tables that are sent have each node with its record, and the cells in their order.
IsWellWritten(effect) ==
    effect.effect = "send" /\ HasTables(effect.message) =>
        /\ IsInOrder(EntriesOf(effect.message.tables))
        /\ \A record \in RecordsOf(effect.message.tables) : record[1] \in DOMAIN book' /\ Record(record[1]) = record

-----------------------------------------------------------------------------
\* What it should do

Types ==
    [join |-> "node_join", exit |-> "node_exit", heartbeat |-> "heartbeat", state |-> "state_data", race |-> "node_race",
     repair |-> "node_repair", announce |-> "node_announcement"]

\* [WA-53, W-62]
OwnHeader(key, versionsSaid, hop) ==
    [sender |-> Record(node.id), key |-> key, versions |-> versionsSaid, credentials |-> config.credentials, hop |-> hop]

\* A message of Wendy as one of the trace: in its own name, or passed on as it was, but for the hops. [WA-56]
OwnSending(m) == <<"send", Address(m[2]), Types[m[3]], OwnHeader(m[5], m[6], m[7]), m[8]>>

PassedOn(m) == [m[8] EXCEPT !.header.hop = m[7]]

\* A message without its type, as notices and commands have it.
Untyped(message) == [header |-> message.header, purpose |-> message.purpose, value |-> message.value]

Typed(message) == [type |-> "application", header |-> message.header, purpose |-> message.purpose, value |-> message.value]

Timer(name) == [type |-> name]

RepairTimer(repair) == [type |-> "repair_timeout", row |-> repair[1], column |-> repair[2]]

\* The cells for which other nodes are asked now than before. [WA-26]
NewlyAsked(after) == {<<r[1], r[2], r[3]>> : r \in after.repairs} \ {<<r[1], r[2], r[3]>> : r \in node.repairs}

Setting(timer, after) == <<"set_timer", timer, after>>

Notice(notice) == <<"notify", notice>>

\* What follows from the state after any event, but for what applications route.
Effects(after) ==
    LET sendings == {OwnSending(m) : m \in Messages([after EXCEPT !.passed = {}])}
        joins == {Sending(Address(m[2]), PassedOn(m)) : m \in {m \in after.passed : m[3] = "join"}}
        questions == {Setting(RepairTimer(cell), config.network_timeout) : cell \in NewlyAsked(after)}
        waits == IF node.stage = "joining" /\ after.stage = "waiting"                                       \* [W-58, WA-37]
                 THEN {Setting(Timer("announce"), 2 * config.network_timeout)} ELSE {}
        exits == {Notice([type |-> "node_exited", node |-> Record(id)]) :                                   \* [WA-72]
                     id \in (after.departed \ node.departed) \cap Known(node)}
    IN  sendings \cup joins \cup questions \cup waits \cup exits

\* A message of an application that this node has or gets: it is delivered, or goes on; `asks` says whether the application is
\* told where, and asked, if it wants to be. [W-43, WA-58, WA-72]
RoutingEffects(after, message, asks) ==
    LET goesOn == {m \in after.passed : m[3] = "application"}
        m == CHOOSE m \in goesOn : TRUE
        onward == PassedOn(m)
        told == Notice([type |-> "forwarding", message |-> Untyped(onward), next_hop |-> Record(m[2])])
        sending == Sending(Address(m[2]), onward)
    IN  IF goesOn = {} THEN {Notice([type |-> "delivered", message |-> Untyped(message)])}
        ELSE IF ~asks THEN {sending}
        ELSE IF config.is_consulted THEN {told}
        ELSE {told, sending}

\* The node afterwards, the effects, the reason for a refusal.
Outcome(after, effects) == [node |-> after, effects |-> effects, refused |-> ""]

Refused(reason) == [node |-> node, effects |-> {}, refused |-> reason]

Nothing == Outcome(node, {})

Result(after) == Outcome(after, Effects(after))

Routing(after, message, asks) == Outcome(after, Effects(after) \cup RoutingEffects(after, message, asks))

-----------------------------------------------------------------------------
\* Events

\* [WA-53]
IsAdmitted(message) == config.credentials = <<>> \/ message.header.credentials = config.credentials

WithHop(message, hop) == [message EXCEPT !.header.hop = hop]

Receipt(message) ==
    LET m == MessageOf(message.header.sender[1], node.id, message)
        sender == message.header.sender
        after == Ended(Received(node, m))
        isTakenIn == message.type = "node_announcement" /\ ~IsConflict(node, m) /\ sender[1] # node.id
    IN  IF ~IsAdmitted(message) THEN Nothing
        ELSE IF IsApplication(message) THEN Routing(after, WithHop(message, m[7] + 1), TRUE)
        ELSE IF isTakenIn                                                                                   \* [W-66, WA-72]
             THEN Outcome(after, Effects(after) \cup {Notice([type |-> "node_joined", node |-> sender])})
        ELSE Result(after)

\* A message has arrived, or not. [WA-24, WA-33, WA-59, WA-64]
Sent(e) ==
    LET message == e.args.message
        m == MessageOf(node.id, At(e.peer), message)
        confirmed == Ended(Confirmed(node, m, e.args.took[1]))
        failed == Ended(Failed(node, m))
        hasNoContact == node.stage = "joining" /\ failed.stage = "alone"
    IN  IF e.args.took # <<>> THEN Result(confirmed)
        ELSE IF IsApplication(message) THEN Routing(failed, message, TRUE)
        ELSE IF hasNoContact
             THEN Outcome(failed, Effects(failed) \cup {Notice([type |-> "join_failed", contact |-> e.peer])})
        ELSE Result(failed)

\* An hour. [W-09, WA-19]
CacheLife == 3600000

FlushSetting == Setting(Timer("flush_cache"), CacheLife)

HeartbeatSetting == Setting(Timer("heartbeat_due"), config.heartbeat)

Expiry(timer) ==
    CASE timer.type = "flush_cache" -> Outcome([node EXCEPT !.cache = <<>>], {FlushSetting})
      [] timer.type = "announce" ->                                                                         \* [W-60, WA-37]
            IF node.stage # "waiting" THEN Nothing
            ELSE LET after == Ended(Announced(node)) IN Outcome(after, Effects(after) \cup {Notice([type |-> "joined"])})
      [] timer.type = "heartbeat_due" ->                                                                    \* [WA-24]
            LET after == SendAll(node, Known(node), "heartbeat", <<>>)
            IN  Outcome(after, Effects(after) \cup {HeartbeatSetting})
      [] timer.type = "repair_timeout" ->                                                                   \* [WA-26]
            LET repairsHere == {repair \in node.repairs : RepairTimer(repair) = timer}
            IN  IF repairsHere = {} THEN Nothing
                ELSE Result(Ended(TimedOut(node, CHOOSE repair \in repairsHere : TRUE)))

\* Bytes are hexadecimal digits here. [WA-66]
MaxValue == 2^19

MaxCredentials == 2^10

IsTooLarge(value, most) == value # <<>> /\ StringSize(value[1]) > 2 * most

Answer(command) ==
    IF node.stage = "left" THEN Refused("left")                                                             \* [WA-62]
    ELSE CASE command.type = "join" ->                                                                      \* [W-45, WA-59]
            LET contactId == At(command.contact)
            IN  IF contactId = node.id /\ node.stage \in {"alone", "joining"} /\ node.contact = <<>> THEN Refused("own_node")
                ELSE IF ~IsAllowed(node, <<"join", contactId>>) THEN Refused("not_alone")
                ELSE Result(Ended(Obeyed(node, <<"join", contactId>>)))
      [] command.type = "leave" -> Result(Ended(Obeyed(node, <<"leave", 0>>)))
      [] command.type = "route" ->                                                                          \* [W-37]
            LET message == [type |-> "application", header |-> OwnHeader(command.key, node.versions, 0),
                            purpose |-> command.purpose, value |-> command.value]
            IN  IF IsTooLarge(command.value, MaxValue) THEN Refused("too_large")
                ELSE Routing(Ended(Routed(node, MessageOf(node.id, node.id, message), 0)), message, TRUE)
      [] command.type = "forward" ->                                                                        \* [WA-58]
            LET message == Typed(command.message)
                header == message.header
            IN  IF IsTooLarge(message.value, MaxValue) \/ IsTooLarge(header.credentials, MaxCredentials)
                THEN Refused("too_large")
                ELSE Routing(Ended(Routed(node, MessageOf(node.id, node.id, message), header.hop)), message, FALSE)
      [] command.type = "send_to" ->                                                                        \* [WA-73]
            LET message == [type |-> "application", header |-> OwnHeader(command.key, node.versions, command.hop),
                            purpose |-> command.purpose, value |-> command.value]
            IN  IF IsTooLarge(command.value, MaxValue) THEN Refused("too_large")
                ELSE IF ~HasAddress(command.node) \/ AddressOf(command.node) = Address(node.id) THEN Refused("bad_value")
                ELSE Outcome(node, {Sending(AddressOf(command.node), message)})

\* A node that has left does and learns nothing any more. [WA-62]
Following(e) ==
    IF e.kind = "api" THEN Answer(e.args)
    ELSE IF node.stage = "left" THEN Nothing
    ELSE CASE e.kind = "recv" -> Receipt(e.args)
           [] e.kind = "sent" -> Sent(e)
           [] e.kind = "timer" -> Expiry(e.args)

\* A start. [W-45, WA-19, WA-24]
StartEffects(settings) ==
    {FlushSetting}
    \cup (IF settings.heartbeat = 0 THEN {} ELSE {Setting(Timer("heartbeat_due"), settings.heartbeat)})

\* Timers that are stopped are not needed any more; a node that leaves stops all.
StopsRightly(e, after) ==
    LET stopped == {effect.timer : effect \in {effect \in Range(e.effects) : IsCancelled(effect)}}
        asking == {RepairTimer(repair) : repair \in after.repairs}
        always == {Timer("flush_cache")} \cup (IF config.heartbeat = 0 THEN {} ELSE {Timer("heartbeat_due")})
        wait == IF node.stage = "waiting" THEN {Timer("announce")} ELSE {}
    IN  IF after.stage = "left" THEN node.stage = "left" \/ (always \cup wait \cup asking) \subseteq stopped
        ELSE \A timer \in stopped : timer.type = "repair_timeout" /\ timer \notin asking

-----------------------------------------------------------------------------
\* Why there is no verdict; "" if there is one.

MaxHops == 2147483647

\* TLC's integers end at 2^31 - 1, and a joiner waits twice the network timeout.
MaxTimeout == MaxHops \div 2

MaxMeasured == 1024

MaxDeparted == 4096

\* What an event says of where nodes are. Messages of applications are passed on, and no node is met in them.
RecordsIn(e) ==
    IF e.kind # "recv" \/ node.stage = "left" THEN {}
    ELSE IF IsApplication(e.args) \/ ~IsAdmitted(e.args) THEN {}
    ELSE {e.args.header.sender} \cup (IF HasTables(e.args) THEN RecordsOf(e.args.tables) ELSE {})

News(e) == {record \in RecordsIn(e) : record[1] \notin DOMAIN book \/ book[record[1]][1] # record}

\* Each of them is a node of its own, at a place of its own.
AreApart(records) ==
    LET places == {Place(record) : record \in records}
        taken == {Place(book[id][1]) : id \in DOMAIN book}
    IN  /\ \A record \in records : HasAddress(record) /\ record[1] \notin DOMAIN book
        /\ Cardinality({record[1] : record \in records}) = Cardinality(records)
        /\ Cardinality(places) = Cardinality(records)
        /\ places \cap taken = {}

BookAfter(records) ==
    IF records = {} THEN book
    ELSE [id \in {record[1] : record \in records} |->
             LET record == CHOOSE record \in records : record[1] = id IN <<record, AddressOf(record)>>] @@ book

WhyUnknownStart(e) ==
    IF e.args.ring # [digits |-> 32, digit_bits |-> 4] THEN "its ring has ids of another size"
    ELSE IF e.args.is_two_sided THEN "its leaf set is two-sided"
    ELSE IF e.args.network_timeout > MaxTimeout THEN "its network timeout is too long"
    ELSE IF OwnRecord(e) = <<>> THEN "its own address is not a host and a port"
    ELSE ""

WhyUnknown(e) ==
    IF e.kind = "recv" /\ e.args.header.hop = MaxHops THEN "it has as many hops as are counted"
    ELSE IF e.kind = "recv" /\ HasTables(e.args) /\ ~IsInOrder(EntriesOf(e.args.tables)) THEN "cells are out of order"
    ELSE IF News(e) # {} /\ ~AreApart(News(e)) THEN "an id has two addresses or none, or shares one"
    ELSE IF e.kind = "timer" /\ e.args.type = "heartbeat_due" /\ config.heartbeat = 0 THEN "heartbeats are switched off"
    ELSE ""

WhyUnknownAfter(after) ==
    IF Cardinality(after.measured) > MaxMeasured THEN "it measures more nodes than it may"
    ELSE IF Cardinality(after.departed) > MaxDeparted THEN "more nodes have gone than it remembers"
    ELSE ""

-----------------------------------------------------------------------------
\* What is wrong with an event; "" if nothing is.

WhatIsWrong(e, outcome) ==
    LET done == SelectSeq(e.effects, IsDone)
        seen == {Seen(done[i]) : i \in DOMAIN done}
    IN  IF e.picks # <<>> THEN "picks"
        ELSE IF e.refused # outcome.refused THEN "refused"
        ELSE IF /\ Len(done) = Cardinality(seen)
                /\ seen = outcome.effects
                /\ \A i \in DOMAIN e.effects : IsWellWritten(e.effects[i])
                /\ StopsRightly(e, outcome.node)
             THEN ""
        ELSE "effects"

WhatIsWrongWithStart(e) ==
    IF e.picks # <<>> THEN "picks"
    ELSE IF e.refused # "" THEN "refused"
    ELSE IF /\ Len(e.effects) = Cardinality(StartEffects(e.args))
            /\ \A i \in DOMAIN e.effects : IsDone(e.effects[i])
            /\ {Seen(e.effects[i]) : i \in DOMAIN e.effects} = StartEffects(e.args)
         THEN ""
    ELSE "effects"

-----------------------------------------------------------------------------

TraceInit ==
    /\ at = 1
    /\ trace = 0
    /\ nextSeq = -1
    /\ lost = FALSE
    /\ config = <<>>
    /\ node = <<>>
    /\ book = <<>>
    /\ stage = <<>> /\ rt = <<>> /\ ls = <<>> /\ ns = <<>> /\ versions = <<>> /\ scores = <<>> /\ cache = <<>>
    /\ measured = <<>> /\ stored = <<>> /\ departed = <<>> /\ repairs = <<>> /\ announcing = <<>> /\ warned = <<>>
    /\ contact = <<>> /\ up = <<>> /\ todo = <<>> /\ restarts = 0 /\ net = {}

\* A node begins with its first line, and again with the first start after it has departed.
Begins(e) == e.kind = "start" /\ (e.trace # trace \/ lost \/ nextSeq < 0)

IsPassedOver(e) == e.trace = trace /\ lost /\ ~Begins(e)

\* The trace departs here, or there is no verdict on it any more.
Ends(e, how, why) == PrintT(<<how, at, e.trace, e.seq, why>>) /\ lost' = TRUE /\ node' = <<>>

\* What was sent is under way; a contact of which only the address was known may have been met. [WA-59]
Rested(after) ==
    LET contactNow == IF after.contact = <<>> \/ after.contact[1] > 0 THEN after.contact ELSE <<At(-after.contact[1])>>
    IN  [after EXCEPT !.sent = {}, !.passed = {}, !.contact = contactNow]

TakeStart(e) ==
    \E unknown \in {WhyUnknownStart(e)} : \E wrong \in {WhatIsWrongWithStart(e)} :
        /\ config' = e.args
        /\ book' = IF unknown # "" THEN <<>> ELSE e.args.id :> <<OwnRecord(e), e.node>>
        /\ IF unknown # "" THEN Ends(e, "undetermined", unknown)
           ELSE IF wrong # "" THEN Ends(e, "departs", wrong)
           ELSE lost' = FALSE /\ node' = Fresh(e.args.id)

TakeStep(e) ==
    \E unknown \in {WhyUnknown(e)} :
        /\ config' = config
        /\ book' = IF unknown # "" THEN <<>> ELSE BookAfter(News(e))
        /\ IF unknown # "" THEN Ends(e, "undetermined", unknown)
           ELSE \E outcome \in {Following(e)} : \E wrong \in {WhatIsWrong(e, outcome)} :
                IF WhyUnknownAfter(outcome.node) # "" THEN Ends(e, "undetermined", WhyUnknownAfter(outcome.node))
                ELSE IF wrong # "" THEN Ends(e, "departs", wrong)
                ELSE lost' = FALSE /\ node' = Rested(outcome.node)

Take(e) ==
    LET isNew == e.trace # trace
        expected == IF Begins(e) THEN e.seq ELSE IF isNew THEN 0 ELSE nextSeq
    IN  /\ trace' = e.trace
        /\ nextSeq' = e.seq + 1
        /\ IF e.seq # expected THEN Ends(e, "departs", "seq") /\ UNCHANGED <<config, book>>
           ELSE IF e.readable # "yes" \/ (e.kind # "start" /\ isNew) THEN Ends(e, "departs", "args") /\ UNCHANGED <<config, book>>
           ELSE IF e.kind = "start" THEN TakeStart(e)
           ELSE TakeStep(e)

TraceNext ==
    /\ at <= EventCount
    /\ at' = at + 1
    /\ \E e \in {Event(at)} :
        IF IsPassedOver(e) THEN UNCHANGED <<trace, nextSeq, lost, config, node, book>> ELSE Take(e)
    /\ UNCHANGED vars

\* Where it is says which state it is.
Position == at

=============================================================================
