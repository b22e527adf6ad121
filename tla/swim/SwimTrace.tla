------------------------------ MODULE SwimTrace ------------------------------
(***************************************************************************)
(* Are the steps of recorded nodes steps of SWIM?                          *)
(*                                                                         *)
(* The same operators that are model-checked say what a node learns and    *)
(* sends. What the model leaves out stands here and takes the place of     *)
(* some of its definitions (SwimTrace.cfg): the random choices are those   *)
(* that were recorded, nodes have addresses, datagrams have a size, and    *)
(* numbers of the configuration are those of the node's own. Subscriptions *)
(* and probes are added. Each node is checked by its own lines. The only   *)
(* behaviour goes through the traces, one event after the other, and says  *)
(* of each that departs where it does so; what follows there is passed     *)
(* over up to the next start.                                              *)
(*                                                                         *)
(* Compared are: the numbers of the lines, datagrams with all that is in   *)
(* them, with addressees and order, and so the table, the queue and the    *)
(* round as far as datagrams show them, the random choices, refusals,      *)
(* timers and notices. Not compared, because the clauses say nothing of    *)
(* it, are: whether timers and notices come before datagrams or after      *)
(* them, and the order of notices; whether the timeout of a probe is       *)
(* cancelled or passed over; and whether a node that has left, and has     *)
(* nothing more to say, goes on with its timer. And neither are            *)
(* fingerprints of states.                                                 *)
(*                                                                         *)
(* No verdict is possible on: a datagram in the node's own name; a joining *)
(* that is queued while the address in it changes; an address of the node  *)
(* itself beyond ASCII; and a payload that may be too large, because the   *)
(* size of a payload is only known to be at most three times that of its   *)
(* text. The trace is undetermined from there on. The largest counters     *)
(* [SA-47] are beyond the integers of TLC.                                 *)
(***************************************************************************)
EXTENDS Swim, TraceData

VARIABLES
    at,        \* the event that comes next
    trace,     \* the trace that the last event was of
    nextSeq,   \* the number that its next line must have; -1 before the first
    ended,     \* "departed" since its last start, "undetermined" for good, or ""
    config,    \* its configuration since then
    node       \* the state of the node, or <<>>: that of Swim, and what is added here, see Begun

-----------------------------------------------------------------------------
\* The configuration, and the random choices that were made

TraceMostMembers == config.ae_size

TraceHasIncarnations == config.emit_incarnation

\* Strings are positive numbers.
TraceNoPayload == 0

IsMade(pick) == pick # <<>>

Made(state) == SelectSeq(state.picks, IsMade)

\* The recorded answer, if it is one. Where there is nothing to choose nothing is recorded.
TraceAnswers(state, question, S, k) ==
    LET count == Min(k, Cardinality(S))
        place == Len(Made(state)) + 1
        answer == state.script[place]
    IN  IF count = 0 THEN {<<>>}
        ELSE IF /\ place <= Len(state.script)
                /\ answer[1] = question
                /\ Len(answer[2]) = count
                /\ Cardinality(Range(answer[2])) = count
                /\ Range(answer[2]) \subseteq S
        THEN {answer[2]}
        ELSE {}

-----------------------------------------------------------------------------
\* Addresses [SA-51]

Colon == 58

IsDigit(byte) == byte \in 48..57

RECURSIVE Digits(_)
Digits(number) == IF number < 10 THEN <<48 + number>> ELSE Append(Digits(number \div 10), 48 + (number % 10))

RECURSIVE Number(_)
Number(digits) == IF digits = <<>> THEN 0 ELSE 10 * Number(SubSeq(digits, 1, Len(digits) - 1)) + digits[Len(digits)] - 48

\* The address of a host and a port.
Address(place) ==
    LET host == StringBytes(place[1])
        shown == IF Colon \in Range(host) THEN <<91>> \o host \o <<93>> ELSE host
    IN  StringOf(shown \o <<Colon>> \o Digits(place[2]))

LastColon(bytes) ==
    LET colons == {i \in DOMAIN bytes : bytes[i] = Colon} IN
    IF colons = {} THEN 0 ELSE CHOOSE i \in colons : \A j \in colons : j <= i

HostOf(bytes) ==
    LET host == SubSeq(bytes, 1, LastColon(bytes) - 1) IN
    IF Len(host) > 1 /\ host[1] = 91 /\ host[Len(host)] = 93 THEN SubSeq(host, 2, Len(host) - 1) ELSE host

PortOf(bytes) == SubSeq(bytes, LastColon(bytes) + 1, Len(bytes))

\* [SA-51, SA-64, SA-65]
IsAddress(bytes) ==
    /\ LastColon(bytes) > 0
    /\ Len(HostOf(bytes)) \in 1..255
    /\ Len(PortOf(bytes)) \in 1..5
    /\ \A byte \in Range(PortOf(bytes)) : IsDigit(byte)
    /\ Number(PortOf(bytes)) \in 1..65535

PlaceOf(bytes) == <<StringOf(HostOf(bytes)), Number(PortOf(bytes))>>

\* What has an address ends with host and port.
TracePlaced(state, m, said) == [state EXCEPT !.places = (m :> SubSeq(said, Len(said) - 1, Len(said))) @@ @]

\* A vector of Swim with the addresses that are sent with it.
WithPlaces(state, vector) ==
    CASE vector[1] \in {"joining", "indirect-ping"} -> vector \o state.places[vector[2]]
      [] vector[1] \in {"anti-entropy", "members"} ->
             <<vector[1]>> \o [i \in 1..(Len(vector) - 1) |-> vector[i + 1] \o state.places[vector[i + 1][1]]]
      [] OTHER -> vector

-----------------------------------------------------------------------------
\* Sizes [SA-32, SA-61, SA-62]

ArraySize(items) == IF items < 16 THEN 1 ELSE 3

IntegerSize(n) == IF n < 128 THEN 1 ELSE IF n < 256 THEN 2 ELSE IF n < 65536 THEN 3 ELSE 5

\* One that begins with ~, ^ or a backquote gets one more ~ in front.
TextSize(string) ==
    LET bytes == StringBytes(string)
        size == IF bytes # <<>> /\ bytes[1] \in {126, 94, 96} THEN Len(bytes) + 1 ELSE Len(bytes)
    IN  (IF size < 32 THEN 1 ELSE IF size < 256 THEN 2 ELSE 3) + size

Digit(byte) == IF IsDigit(byte) THEN byte - 48 ELSE byte - 87

\* How many digits, from the first on, are this one.
Leading(digits, digit) ==
    LET others == {i \in DOMAIN digits : digits[i] # digit} IN
    IF others = {} THEN Len(digits) ELSE (CHOOSE i \in others : \A j \in others : i <= j) - 1

\* A signed integer of these 16 hexadecimal digits.
HalfSize(digits) ==
    LET same == Leading(digits, IF digits[1] < 8 THEN 0 ELSE 15)
        isLow(i) == digits[i] < 8
    IN  IF digits[1] < 8
        THEN IF same >= 15 \/ (same = 14 /\ isLow(15)) THEN 1 ELSE IF same >= 14 THEN 2 ELSE IF same >= 12 THEN 3
             ELSE IF same >= 8 THEN 5 ELSE 9
        ELSE IF same >= 14 /\ digits[15] >= 14 THEN 1 ELSE IF same >= 14 /\ ~isLow(15) THEN 2
             ELSE IF same >= 12 /\ ~isLow(13) THEN 3 ELSE IF same >= 8 /\ ~isLow(9) THEN 5 ELSE 9

\* ["~#u", [hi, lo]]; a half takes nine bytes unless it begins with 0 or f.
UuidSize(uuid) ==
    LET bytes == StringBytes(uuid)
        isNoDash(byte) == byte # 45
        short == SelectSeq(bytes, isNoDash)
        digits == [i \in DOMAIN short |-> Digit(short[i])]
    IN  IF {bytes[1], bytes[20]} \cap {48, 102} = {} THEN 6 + 9 + 9
        ELSE 6 + HalfSize(SubSeq(digits, 1, 16)) + HalfSize(SubSeq(digits, 17, 32))

\* How much longer a keyword is where it stands for the first time: elsewhere it is a header, ^ and one more character.
KeywordLength ==
    [ping |-> 4, ack |-> 3, joining |-> 7, normal |-> 6, suspicious |-> 10, dead |-> 4, leave |-> 5, payload |-> 7]
    @@ ("anti-entropy" :> 12) @@ ("indirect-ping" :> 13) @@ ("indirect-ack" :> 12) @@ ("members" :> 0)

KeywordCode == 3

\* The keys of all maps of anti-entropy: host, port, uuid, restart-counter and tx-counter.
MapKeysLength == 4 + 4 + 4 + 15 + 10

PlaceSize(place) == TextSize(place[1]) + IntegerSize(place[2])

MapSize(entry) ==
    1 + 5 * KeywordCode + PlaceSize(SubSeq(entry, 4, 5)) + UuidSize(entry[1]) + IntegerSize(entry[2]) + IntegerSize(entry[3])

RECURSIVE Sum(_)
Sum(numbers) == IF numbers = <<>> THEN 0 ELSE Head(numbers) + Sum(Tail(numbers))

MapsSize(entries) == Sum([i \in DOMAIN entries |-> MapSize(entries[i])])

\* A vector with its addresses, and with the code of its keyword. Of a payload this is the most that it may be.
VectorSize(vector) ==
    CASE vector[1] \in EventNames \ {"joining"} ->
             1 + KeywordCode + UuidSize(vector[2])
             + (IF Len(vector) = 4 THEN IntegerSize(vector[3]) + IntegerSize(vector[4]) ELSE 0)
      [] vector[1] = "joining" ->
             1 + KeywordCode + UuidSize(vector[2]) + IntegerSize(vector[3]) + IntegerSize(vector[4])
             + PlaceSize(SubSeq(vector, 5, 6))
      [] vector[1] = "indirect-ping" -> 1 + KeywordCode + UuidSize(vector[2]) + PlaceSize(SubSeq(vector, 3, 4))
      [] vector[1] = "indirect-ack" ->
             1 + KeywordCode + UuidSize(vector[2]) + IntegerSize(vector[3]) + IntegerSize(vector[4])
      [] vector[1] = "anti-entropy" ->
             ArraySize(Len(vector)) + KeywordCode + MapsSize(Tail(vector))
      [] vector[1] = "members" -> ArraySize(Len(vector) - 1) + MapsSize(Tail(vector))
      [] vector[1] = "payload" -> 1 + KeywordCode + 3 * StringSize(vector[2])

HeaderSize(datagram) ==
    1 + KeywordCode + UuidSize(datagram[1]) + UuidSize(datagram[2])
    + Sum([i \in DOMAIN datagram[4] |-> IntegerSize(datagram[4][i])])

RECURSIVE KeywordsLength(_)
KeywordsLength(names) ==
    IF names = {} THEN 0
    ELSE LET name == CHOOSE name1 \in names : TRUE IN KeywordLength[name] + KeywordsLength(names \ {name})

DatagramSize(state, datagram) ==
    LET vectors == [i \in DOMAIN datagram[5] |-> WithPlaces(state, datagram[5][i])]
        keywords == {datagram[3]} \cup {vectors[i][1] : i \in DOMAIN vectors}
        hasMaps == keywords \cap {"anti-entropy", "members"} # {}
    IN  ArraySize(Len(vectors) + 1) + HeaderSize(datagram) + Sum([i \in DOMAIN vectors |-> VectorSize(vectors[i])])
        + KeywordsLength(keywords)
        + (IF hasMaps THEN MapKeysLength ELSE 0)

Fits(state, datagram) == DatagramSize(state, datagram) <= config.max_datagram

Behind(datagram, vectors) == [datagram EXCEPT ![5] = @ \o vectors]

\* The longest beginning that fits.
Beginning(sequence, FitsUpTo(_)) ==
    IF FitsUpTo(Len(sequence)) THEN sequence
    ELSE SubSeq(sequence, 1, CHOOSE k \in 0..(Len(sequence) - 1) : FitsUpTo(k) /\ ~FitsUpTo(k + 1))

\* A payload that may be too large.
Unsure == "unsure"

TraceFitting(state, datagram, vectors) ==
    LET fitting == Beginning(vectors, LAMBDA k : k = 0 \/ Fits(state, Behind(datagram, SubSeq(vectors, 1, k))))
    IN  IF vectors # <<>> /\ vectors[1][1] = "payload" /\ fitting = <<>> THEN << <<Unsure>> >> ELSE fitting

TraceFittingMembers(state, datagram, tag, order) ==
    Beginning(order, LAMBDA k : k = 0 \/ Fits(state, Behind(datagram, Members(state, tag, SubSeq(order, 1, k)))))

-----------------------------------------------------------------------------
\* What was recorded, as Swim has it: the name of a message comes first, and vectors have their addresses

Said(vector) ==
    LET named(name) == <<name, vector.node>>
        optional(name) == named(name) \o (IF vector.incarnation = <<>> THEN <<>> ELSE vector.incarnation[1])
    IN  CASE vector.type = "joining" -> named("joining") \o vector.incarnation \o <<vector.host, vector.port>>
          [] vector.type \in {"normal", "suspicious", "dead"} -> optional(vector.type)
          [] vector.type = "leave" -> named("leave") \o vector.incarnation
          [] vector.type = "anti_entropy" ->
                 <<IF vector.tagged THEN "anti-entropy" ELSE "members">>
                 \o [i \in DOMAIN vector.members |->
                        LET member == vector.members[i] IN <<member[3], member[4], member[5], member[1], member[2]>>]
          [] vector.type = "payload" -> <<"payload", vector.data>>
          [] vector.type = "indirect_ping" -> <<"indirect-ping", vector.target, vector.host, vector.port>>
          [] vector.type = "indirect_ack" -> <<"indirect-ack", vector.target>> \o vector.incarnation

Header(message) ==
    CASE message.type = "ack" -> Append(message.incarnation, message.target_tx)
      [] message.type = "probe_ack" -> Append(message.incarnation, message.probe_tx)
      [] OTHER -> message.incarnation

Recorded(message) ==
    IF message.type \in {"probe", "probe_ack"} THEN <<message.type, message.sender, Header(message)>>
    ELSE <<message.type, message.sender, message.target, Header(message),
           [i \in DOMAIN message.vectors |-> Said(message.vectors[i])]>>

\* A datagram of Swim in the same form.
Shown(state, datagram) ==
    <<datagram[3], datagram[1], datagram[2], datagram[4],
      [i \in DOMAIN datagram[5] |-> WithPlaces(state, datagram[5][i])]>>

Timer(timer) == IF timer.type = "quantum" THEN <<"quantum">> ELSE <<"probe_timeout", timer.host, timer.port>>

Notice(notice) ==
    CASE notice.type \in {"node_event", "cluster_event"} -> <<notice.type, notice.node, notice.event_type>>
      [] notice.type = "reachable" -> <<"reachable", notice.host, notice.port, notice.node>>
      [] notice.type = "unreachable" -> <<"unreachable", notice.host, notice.port>>

IsSend(effect) == effect.effect = "send"

IsOther(effect) == effect.effect # "send"

\* Datagrams, in their order, with their addressees.
SentIn(e) ==
    LET sends == SelectSeq(e.effects, IsSend) IN [i \in DOMAIN sends |-> <<sends[i].to, Recorded(sends[i].message)>>]

\* All else that the node did.
OthersIn(e) ==
    LET others == SelectSeq(e.effects, IsOther)
        shown(effect) ==
            CASE effect.effect = "set_timer" -> <<"set_timer", effect.after>> \o Timer(effect.timer)
              [] effect.effect = "cancel_timer" -> <<"cancel_timer">> \o Timer(effect.timer)
              [] effect.effect = "notify" -> Notice(effect.notice)
    IN  [i \in DOMAIN others |-> shown(others[i])]

-----------------------------------------------------------------------------
\* Judging an event: what the node has become, what is wrong, or why there is no verdict

Becoming(state) == [is |-> "right", what |-> "", state |-> state]

Departing(what) == [is |-> "departs", what |-> what, state |-> <<>>]

Undetermined(why) == [is |-> "undetermined", what |-> why, state |-> <<>>]

\* What must be done besides sending, and what may be.
Agrees(e, sent, others, optional) ==
    LET recorded == OthersIn(e) IN
    /\ SentIn(e) = sent
    /\ others \subseteq Range(recorded)
    /\ Range(recorded) \subseteq others \cup optional
    /\ Cardinality(Range(recorded)) = Len(recorded)

\* A step without random choices.
Judged(e, state, sent, others, optional) ==
    IF e.picks # <<>> THEN Departing("picks")
    ELSE IF e.refused # "" THEN Departing("refused")
    ELSE IF ~Agrees(e, sent, others, optional) THEN Departing("effects")
    ELSE Becoming(state)

Refusal(e, reason) ==
    IF e.picks # <<>> THEN Departing("picks")
    ELSE IF e.refused # reason THEN Departing("refused")
    ELSE IF e.effects # <<>> THEN Departing("effects")
    ELSE Becoming(node)

\* [S-56, S-57, SA-06, SA-40]
Told(before, after) ==
    LET types(m) ==
            IF m \notin Known(before) THEN {after.table[m].status}
            ELSE (IF after.table[m].status # before.table[m].status THEN {after.table[m].status} ELSE {})
                 \cup (IF after.table[m].incarnation[1] # before.table[m].incarnation[1] THEN {"incarnation"} ELSE {})
        changes == UNION {{<<m, type>> : type \in types(m)} : m \in Known(after)}
    IN  {<<"node_event", change[1], change[2]>> : change \in changes \cap after.nodeEvents}
        \cup {<<"cluster_event", change[1], change[2]>> : change \in {other \in changes : other[2] \in after.clusterEvents}}

\* Datagrams bear the number of each, and that is their order. [SA-09]
RECURSIVE InOrder(_)
InOrder(datagrams) ==
    IF datagrams = {} THEN <<>>
    ELSE LET first == CHOOSE d \in datagrams : \A other \in datagrams : d[4][2] <= other[4][2]
         IN  <<first>> \o InOrder(datagrams \ {first})

IsUnsure(datagrams) == \E d \in datagrams : \E i \in DOMAIN d[5] : d[5][i][1] = Unsure

\* A queued joining says where its node is, and here only the last address of each is known.
HasMoved(before, after) ==
    \E i \in DOMAIN before.queue :
        LET event == before.queue[i].event IN
        /\ event[1] = "joining"
        /\ before.places[event[2]] # after.places[event[2]]
        /\ \E j \in DOMAIN after.queue : after.queue[j].event = event

\* What Swim makes of an event; To says where the i-th datagram goes, and others is what is done besides.
JudgedBySwim(e, results, others, To(_, _, _)) ==
    IF results = {} THEN Departing("picks")
    ELSE LET result == CHOOSE only \in results : TRUE
             state == result[1]
             sent == InOrder(result[2])
         IN  IF Len(Made(state)) # Len(e.picks) THEN Departing("picks")
             ELSE IF e.refused # "" THEN Departing("refused")
             ELSE IF IsUnsure(result[2]) THEN Undetermined("whether the payload fits into a datagram")
             ELSE IF HasMoved(node, state) THEN Undetermined("the address in a queued joining")
             ELSE IF ~Agrees(e, [i \in DOMAIN sent |-> <<To(state, i, sent[i]), Shown(state, sent[i])>>],
                             others \cup Told(node, state), {})
             THEN Departing("effects")
             ELSE Becoming(state)

-----------------------------------------------------------------------------
\* A start [SA-01, SA-48, SA-57]

Begun(e) ==
    LET id == e.args.uuid
        seeds == {seed \in Range(e.args.seeds) : seed[1] # id}
        ids == {seed[1] : seed \in seeds}
        last(m) ==
            LET isOfIt(seed) == seed[1] = m
                found == SelectSeq(e.args.seeds, isOfIt)
            IN  found[Len(found)]
        state == Started(id, e.args.restart_counter, [m \in ids |-> NewRow("joining", <<0, 0>>, "first")])
    IN  [script |-> <<>>,                                                            \* the answers of the step, see TraceAnswers
         places |-> [m \in ids |-> SubSeq(last(m), 2, 3)] @@ (id :> PlaceOf(StringBytes(e.node))),    \* hosts and ports
         nodeEvents |-> {}, clusterEvents |-> Range(e.args.cluster_events),          \* subscriptions
         probes |-> <<>>]                                                            \* by address: the number of the last probe
        @@ state

\* [SA-51]
StartJudged(e) ==
    LET bytes == StringBytes(e.node)
        refused == IF IsAddress(bytes) THEN "" ELSE "bad_value"
    IN  IF \E byte \in Range(bytes) : byte > 127 THEN Undetermined("an address beyond ASCII")
        ELSE IF e.picks # <<>> THEN Departing("picks")
        ELSE IF e.refused # refused THEN Departing("refused")
        ELSE IF refused # "" THEN (IF e.effects = <<>> THEN Becoming(<<>>) ELSE Departing("effects"))
        ELSE IF ~Agrees(e, <<>>, {<<"set_timer", e.args.interval, "quantum">>}, {}) THEN Departing("effects")
        ELSE Becoming(Begun(e))

-----------------------------------------------------------------------------
\* A quantum, and then the next; a node that has left and is done with it may stop [SA-01, SA-59]

Here(e) == [node EXCEPT !.script = e.picks, !.picks = <<>>]

\* [SA-51]
ToRow(state, i, datagram) == Address(state.places[datagram[2]])

QuantumJudged(e) ==
    LET next == {<<"set_timer", config.interval, "quantum">>} IN
    IF IsSilent(node) THEN Judged(e, node, <<>>, {}, next) ELSE JudgedBySwim(e, Quanta(Here(e)), next, ToRow)

-----------------------------------------------------------------------------
\* A datagram

IncomingOf(e) ==
    LET recorded == Recorded(e.args) IN <<recorded[2], recorded[3], recorded[1], recorded[4], recorded[5]>>

\* The requests of a ping that a relay takes up. [SA-55]
Requested(m) ==
    LET isRequest(vector) == vector[1] = "indirect-ping" /\ vector[2] \notin {m[1], m[2]} IN SelectSeq(m[5], isRequest)

\* An answer goes to where the datagram came from, a ping of a relay to the address in the request. [SA-51, SA-55]
PingJudged(e) ==
    LET m == IncomingOf(e)
        to(state, i, datagram) ==
            IF datagram[3] = "ack" THEN e.peer ELSE Address(SubSeq(Requested(m)[i - 1], 3, 4))
    IN  JudgedBySwim(e, Received(Here(e), m), {}, to)

\* What a relay reports goes to the address in the row of the requester.
AckJudged(e) == JudgedBySwim(e, Received(Here(e), IncomingOf(e)), {}, ToRow)

\* A probe changes no row. [SA-09, SA-41]
ProbeJudged(e) ==
    LET counted == Counted(node) IN
    Judged(e, counted, <<<<e.peer, <<"probe_ack", node.id, Append(counted.own, e.args.incarnation[2])>>>>>>, {}, {})

Without(function, x) == [y \in DOMAIN function \ {x} |-> function[y]]

\* The answer to the last probe of its address. [SA-60]
ProbeAckJudged(e) ==
    LET pending == {place \in DOMAIN node.probes : Address(place) = e.peer /\ node.probes[place] = e.args.probe_tx} IN
    IF pending = {} THEN Judged(e, node, <<>>, {}, {})
    ELSE LET place == CHOOSE place1 \in pending : TRUE
         IN  Judged(e, [node EXCEPT !.probes = Without(@, place)], <<>>, {<<"reachable">> \o place \o <<e.args.sender>>},
                    {<<"cancel_timer", "probe_timeout">> \o place})

\* [SA-22]
ReceiptJudged(e) ==
    CASE e.args.type = "probe" -> ProbeJudged(e)
      [] e.args.type = "probe_ack" -> ProbeAckJudged(e)
      [] e.args.type \in {"ping", "ack"} ->
             IF e.args.target # node.id THEN Judged(e, node, <<>>, {}, {})
             ELSE IF e.args.sender = node.id THEN Undetermined("a datagram in the name of the node itself")
             ELSE IF e.args.type = "ping" THEN PingJudged(e)
             ELSE AckJudged(e)

-----------------------------------------------------------------------------
\* The timeout of a probe [SA-60]

TimeoutJudged(e) ==
    LET place == <<e.args.host, e.args.port>> IN
    IF place \notin DOMAIN node.probes THEN Judged(e, node, <<>>, {}, {})
    ELSE Judged(e, [node EXCEPT !.probes = Without(@, place)], <<>>, {<<"unreachable">> \o place}, {})

-----------------------------------------------------------------------------
\* Commands

\* One that Swim knows. To remove a node is to let it leave before. [SA-36, SA-37, SA-38]
Commanded(e, command, reason) ==
    IF ~IsAllowed(node, command) THEN Refusal(e, reason)
    ELSE LET after == Obeyed(node, command)
             gone == IF command[1] = "remove" THEN Leave(node, command[2]) ELSE after
         IN  IF HasMoved(node, after) THEN Undetermined("the address in a queued joining")
             ELSE Judged(e, after, <<>>, Told(node, gone), {})

\* The empty map has two bytes, {}, and is no payload. [SA-33]
PayloadIn(args) == IF StringSize(args.data) = 2 THEN NoPayload ELSE args.data

\* A ping as large as can be, with this payload. [SA-35]
LargestWith(data) == 75 + VectorSize(<<"payload", data>>) + KeywordLength["payload"]

PayloadJudged(e) ==
    IF e.args.uuid # node.id THEN Refusal(e, "not_own")
    ELSE IF LargestWith(e.args.data) > config.max_datagram THEN Undetermined("whether the payload fits into a datagram")
    ELSE Commanded(e, <<"payload", PayloadIn(e.args)>>, "")

\* One probe, and two quanta to answer it. [SA-09, SA-60]
ProbingJudged(e) ==
    LET place == <<e.args.host, e.args.port>>
        counted == Counted(node)
    IN  Judged(e, [counted EXCEPT !.probes = (place :> counted.own[2]) @@ @],
               <<<<Address(place), <<"probe", node.id, counted.own>>>>>>,
               {<<"set_timer", 2 * config.interval, "probe_timeout">> \o place}, {})

CommandJudged(e) ==
    LET uuid == e.args.uuid
        reason == IF uuid = node.id THEN "own_node" ELSE "unknown_node"
    IN  CASE e.args.type = "add_node" -> Commanded(e, <<"add", uuid, e.args.host, e.args.port>>, reason)
          [] e.args.type = "leave_node" -> Commanded(e, <<"leave", uuid>>, reason)
          [] e.args.type = "remove_node" -> Commanded(e, <<"remove", uuid>>, reason)
          [] e.args.type = "set_payload" -> PayloadJudged(e)
          [] e.args.type = "probe_node" -> ProbingJudged(e)
          [] e.args.type = "on_node_event" ->
                 Judged(e, [node EXCEPT !.nodeEvents = @ \cup {<<uuid, e.args.event_type>>}], <<>>, {}, {})
          [] e.args.type = "on_cluster_event" ->
                 Judged(e, [node EXCEPT !.clusterEvents = @ \cup {e.args.event_type}], <<>>, {}, {})

-----------------------------------------------------------------------------

EventJudged(e) ==
    IF e.readable # "yes" THEN Departing("args")
    ELSE IF e.kind = "start" THEN StartJudged(e)
    ELSE IF node = <<>> THEN Departing("args")
    ELSE CASE e.kind = "timer" -> IF e.args.type = "quantum" THEN QuantumJudged(e) ELSE TimeoutJudged(e)
           [] e.kind = "recv" -> ReceiptJudged(e)
           [] e.kind = "api" -> CommandJudged(e)
           [] OTHER -> Departing("args")   \* no node of SWIM is told what becomes of a datagram

-----------------------------------------------------------------------------

Unconfigured == <<>>

\* The variables of the model are not used.
TraceInit ==
    /\ at = 1
    /\ trace = 0
    /\ nextSeq = -1
    /\ ended = ""
    /\ config = Unconfigured
    /\ node = <<>>
    /\ own = <<>> /\ table = <<>> /\ queue = <<>> /\ round = <<>> /\ pinged = <<>> /\ answered = <<>> /\ heard = <<>>
    /\ isolated = <<>> /\ left = <<>> /\ relays = <<>> /\ payload = <<>>
    /\ up = <<>> /\ todo = <<>> /\ restarts = 0 /\ net = {}

\* A node begins with its first line, and again with the first start after it has departed.
Begins(e) == e.kind = "start" /\ (e.trace # trace \/ ended = "departed" \/ nextSeq < 0)

IsPassedOver(e) == e.trace = trace /\ ended # "" /\ ~Begins(e)

Take(e) ==
    LET isNew    == e.trace # trace
        expected == IF Begins(e) THEN e.seq ELSE IF isNew THEN 0 ELSE nextSeq
        judged   == IF e.seq # expected THEN Departing("seq")
                    ELSE IF isNew /\ e.kind # "start" THEN Departing("args")
                    ELSE EventJudged(e)
    IN  /\ trace' = e.trace
        /\ nextSeq' = e.seq + 1
        /\ config' = IF e.kind = "start" THEN e.args ELSE IF isNew THEN Unconfigured ELSE config
        /\ node' = judged.state
        /\ ended' = CASE judged.is = "right" -> "" [] judged.is = "departs" -> "departed" [] OTHER -> "undetermined"
        /\ judged.is # "right" => PrintT(<<judged.is, at, e.trace, e.seq, judged.what>>)

TraceNext ==
    /\ at <= EventCount
    /\ at' = at + 1
    /\ LET e == Event(at) IN IF IsPassedOver(e) THEN UNCHANGED <<trace, nextSeq, ended, config, node>> ELSE Take(e)
    /\ UNCHANGED <<local, up, todo, restarts, net>>

\* Where it is says which state it is.
Position == at

=============================================================================
