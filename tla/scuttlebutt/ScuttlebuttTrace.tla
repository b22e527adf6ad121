-------------------------- MODULE ScuttlebuttTrace --------------------------
(***************************************************************************)
(* Are the steps of recorded nodes steps of Scuttlebutt?                   *)
(*                                                                         *)
(* The same operators that are model-checked say what a node stores and    *)
(* answers; four of them, which count bytes of one-byte strings there, are *)
(* given the sizes of real ones here (ScuttlebuttTrace.cfg). Each node is  *)
(* checked by its own lines. The only behaviour goes through the traces,   *)
(* one event after the other, and says of each that departs where it does  *)
(* so; what follows there is passed over up to the next start.             *)
(*                                                                         *)
(* Compared are: the numbers of the lines, messages sent, with addressees  *)
(* and order, and so the store as far as messages show it, the random      *)
(* choices, refusals, the timer, and the notices of joins, updates and     *)
(* heartbeats. Not compared, because there is no time here: round-trip     *)
(* times, which peers are up or down, and which are critical (any may be). *)
(* And neither are fingerprints of states. ScuttlebuttTrace.json has this  *)
(* for programs that compare verdicts.                                     *)
(***************************************************************************)
EXTENDS Scuttlebutt, TraceData, TLC

VARIABLES
    at,        \* the event that comes next
    trace,     \* the trace that the last event was of
    nextSeq,   \* the number that its next line must have; -1 before the first
    lost,      \* whether it has departed since its last start
    config     \* its configuration since then

traceVars == <<at, trace, nextSeq, lost, config, store, net, restarts>>

-----------------------------------------------------------------------------
\* Sizes of real strings [B-42, B-43, B-45]; they replace those of the model, as do the limit and the order of keys.

MaxString == 255

VersionSize == 8

FieldSize(string) == 1 + StringSize(string)

TraceEntrySize(entry) == FieldSize(entry[1]) + FieldSize(entry[2]) + FieldSize(entry[3]) + VersionSize

TraceLimit(n) == config.max_payload

TraceKeyRank(key) == key

RECURSIVE Fitting(_, _)
Fitting(entries, room) ==
    IF entries = <<>> THEN <<>>
    ELSE LET size == FieldSize(entries[1][1]) + VersionSize IN
         IF size > room THEN <<>> ELSE <<entries[1]>> \o Fitting(Tail(entries), room - size)

RECURSIVE Bytes(_, _)
Bytes(entries, i) == IF i = 0 THEN 0 ELSE FieldSize(entries[i][1]) + VersionSize + Bytes(entries, i - 1)

\* The first that does not fit ends the message. [B-24, BA-06]
TraceCut(n, entries) ==
    IF TypeSize + Bytes(entries, Len(entries)) <= Limit(n) THEN entries ELSE Fitting(entries, Limit(n) - TypeSize)

-----------------------------------------------------------------------------
\* What a node is seen to do, without what depends on time.

Seen(effect) ==
    CASE effect.effect = "send"      -> <<"send", effect.to, effect.message.type, effect.message.entries>>
      [] effect.effect = "set_timer" -> <<"set_timer", effect.after>>
      [] effect.effect = "notify"    ->
            (CASE effect.notice.type = "join"      -> <<"join", effect.notice.peer>>
               [] effect.notice.type = "heartbeat" -> <<"heartbeat", effect.notice.peer>>
               [] effect.notice.type = "update"    -> <<"update", effect.notice.peer, effect.notice.key,
                                                        effect.notice.value, effect.notice.version>>
               [] OTHER                            -> <<"status">>)
      [] OTHER -> <<"unknown">>

IsTimeless(effect) == Seen(effect)[1] # "status"

\* Only a round sets statuses. [B-20]
SeenOf(e) ==
    LET kept == IF e.kind = "timer" THEN SelectSeq(e.effects, IsTimeless) ELSE e.effects
    IN  [i \in DOMAIN kept |-> Seen(kept[i])]

Sent(m) == <<"send", m[2], m[3], m[4]>>

-----------------------------------------------------------------------------
\* A start [B-01, B-04, B-08]

StartRefused(e) == IF StringSize(e.node) > MaxString THEN "too_large" ELSE ""

StartEffects(e) == IF StartRefused(e) = "" THEN <<<<"set_timer", e.args.interval>>>> ELSE <<>>

-----------------------------------------------------------------------------
\* An update [B-06, B-07, BA-03, BA-18]

Changed(e) == LET own == store[e.node][e.node] IN <<e.node, e.args.key, e.args.value, own.version + 1>>

UpdateRefused(e) ==
    IF StringSize(e.args.key) > MaxString \/ StringSize(e.args.value) > MaxString \/ ~FitsAlone(e.node, Changed(e))
    THEN "too_large"
    ELSE ""

AfterUpdate(e) ==
    LET pair == Changed(e) IN WithPair(store[e.node][e.node], pair[2], pair[3], pair[4])

-----------------------------------------------------------------------------
\* A message received

Received(e) == <<e.peer, e.node, e.args.type, e.args.entries>>

\* The peers of a digest that are not known, in the order in which it first names them. [B-11, BA-26]
Strangers(n, digest) ==
    LET IsFirst(i) == digest[i][1] \notin Known(n) /\ \A j \in 1..(i - 1) : digest[j][1] # digest[i][1]
        places     == SelectSeq([i \in DOMAIN digest |-> i], IsFirst)
    IN  [i \in DOMAIN places |-> digest[places[i]][1]]

\* The entries of a delta that are news, each after those before it. [B-36, BA-26]
RECURSIVE News(_, _, _)
News(n, records, delta) ==
    IF delta = <<>> THEN <<>>
    ELSE LET entry == Head(delta) IN
         IF IsNews(n, records, entry)
         THEN <<entry>> \o News(n, [records EXCEPT ![entry[1]] = WithPair(@, entry[2], entry[3], entry[4])], Tail(delta))
         ELSE News(n, records, Tail(delta))

\* The delta comes before the digest response. [B-34]
ReceiptEffects(e) ==
    LET m        == Received(e)
        answers  == Answers(m)
        deltas   == {answer \in answers : answer[3] = "delta"}
        requests == answers \ deltas
        only(S)  == IF S = {} THEN <<>> ELSE <<Sent(CHOOSE answer \in S : TRUE)>>
    IN  IF e.args.type = "delta"
        THEN LET news == News(e.node, store[e.node], m[4])
             IN  <<<<"heartbeat", e.peer>>>>                                                \* [B-33, BA-23]
                 \o [i \in DOMAIN news |-> <<"update", news[i][1], news[i][2], news[i][3], news[i][4]>>]
        ELSE LET joins == Strangers(e.node, m[4])
             IN  [i \in DOMAIN joins |-> <<"join", joins[i]>>] \o only(deltas) \o only(requests)

-----------------------------------------------------------------------------
\* A round [B-08…B-10, B-17…B-19, B-22, BA-09, BA-24, BA-31]

Range(sequence) == {sequence[i] : i \in DOMAIN sequence}

IsAscending(sequence) == \A i \in 1..(Len(sequence) - 1) : sequence[i] < sequence[i + 1]

Others(n) == Known(n) \ {n}

UnknownSeeds(n) == Range(config.seeds) \ Known(n)

\* The questions whose answers are the receivers, before each of them gets a digest whose order is asked for, too.
Asked(n) == IF Others(n) = {} THEN <<>>
            ELSE IF UnknownSeeds(n) = {} THEN <<"round.partner">> ELSE <<"round.partner", "round.seed">>

QuestionsOf(n, requests) ==
    LET asked == Asked(n)
        pairs == [i \in 1..(2 * Len(asked)) |-> IF i % 2 = 1 THEN asked[(i + 1) \div 2] ELSE "digest.order"]
    IN  pairs \o [i \in 1..(requests - Len(asked)) |-> "digest.order"]

IsOption(question, answer, n) ==
    CASE question = "round.partner" -> Len(answer) = 1 /\ answer[1] \in Others(n)
      [] question = "round.seed"    -> Len(answer) = 1 /\ answer[1] \in UnknownSeeds(n)
      [] question = "digest.order"  -> Len(answer) = Cardinality(Known(n)) /\ Range(answer) = Known(n)

\* The nodes that the answers name.
Targets(n, e) ==
    LET IsTarget(pick) == pick[1] # "digest.order"
        picks == SelectSeq(e.picks, IsTarget)
    IN  [i \in DOMAIN picks |-> picks[i][2][1]]

\* The requests of a round: the last effect sets the timer. A request to a critical peer goes to any peer, if there is a detector.
RoundPicksAgree(n, e, requests) ==
    LET questions == QuestionsOf(n, requests)
    IN  /\ requests >= Len(Asked(n))
        /\ Len(e.picks) = Len(questions)
        /\ \A i \in DOMAIN questions : e.picks[i][1] = questions[i] /\ IsOption(questions[i], e.picks[i][2], n)

RoundEffectsAgree(n, e, seen) ==
    LET requests   == Len(seen) - 1
        IsOrder(pick) == pick[1] = "digest.order"
        orders     == SelectSeq(e.picks, IsOrder)
        named      == Targets(n, e)
        to         == [i \in 1..requests |-> seen[i][2]]
        beyond     == SubSeq(to, Len(named) + 1, requests)
    IN  /\ \A i \in 1..requests : seen[i] = Sent(DigestRequest(n, seen[i][2], orders[i][2]))
        /\ SubSeq(to, 1, Len(named)) = named
        /\ IsAscending(beyond)
        /\ IF Others(n) = {} THEN Range(to) = UnknownSeeds(n)
           ELSE Range(beyond) \subseteq (IF config.detector = <<>> THEN {} ELSE Others(n))
        /\ seen[Len(seen)] = <<"set_timer", config.interval>>

\* Everything before the last effect is a request.
IsRoundShaped(seen) == seen # <<>> /\ \A i \in 1..(Len(seen) - 1) : seen[i][1] = "send"

-----------------------------------------------------------------------------
\* What is wrong with an event; "" if nothing is.

WhatIsWrong(e, expected) ==
    IF e.seq # expected THEN "seq"
    ELSE IF e.readable # "yes" \/ (e.kind # "start" /\ e.node \notin DOMAIN store) THEN "args"
    ELSE IF e.kind = "timer"
         THEN LET seen == SeenOf(e) IN
              IF e.refused # "" THEN "refused"
              ELSE IF ~IsRoundShaped(seen) THEN "effects"
              ELSE IF ~RoundPicksAgree(e.node, e, Len(seen) - 1) THEN "picks"
              ELSE IF ~RoundEffectsAgree(e.node, e, seen) THEN "effects"
              ELSE ""
    ELSE IF e.picks # <<>> THEN "picks"
    ELSE LET refused == CASE e.kind = "start" -> StartRefused(e) [] e.kind = "api" -> UpdateRefused(e) [] OTHER -> ""
             effects == CASE e.kind = "start" -> StartEffects(e) [] e.kind = "recv" -> ReceiptEffects(e) [] OTHER -> <<>>
         IN  IF e.refused # refused THEN "refused" ELSE IF SeenOf(e) # effects THEN "effects" ELSE ""

\* The store after an event that is right.
StoreAfter(e) ==
    IF e.refused # "" THEN (IF e.kind = "start" THEN <<>> ELSE store)
    ELSE CASE e.kind = "start" -> (e.node :> (e.node :> NoPairs))
           [] e.kind = "recv"  -> [store EXCEPT ![e.node] = Learnt(Received(e))]
           [] e.kind = "api"   -> [store EXCEPT ![e.node][e.node] = AfterUpdate(e)]
           [] e.kind = "timer" -> store

-----------------------------------------------------------------------------

Unconfigured == [max_payload |-> 0]

TraceInit ==
    /\ at = 1
    /\ trace = 0
    /\ nextSeq = -1
    /\ lost = FALSE
    /\ config = Unconfigured
    /\ store = <<>>
    /\ net = {}
    /\ restarts = 0

\* A node begins with its first line, and again with the first start after it has departed.
Begins(e) == e.kind = "start" /\ (e.trace # trace \/ lost \/ nextSeq < 0)

IsPassedOver(e) == e.trace = trace /\ lost /\ ~Begins(e)

Take(e) ==
    LET isNew    == e.trace # trace
        expected == IF Begins(e) THEN e.seq ELSE IF isNew THEN 0 ELSE nextSeq
    IN  /\ trace' = e.trace
        /\ nextSeq' = e.seq + 1
        /\ config' = IF e.kind = "start" THEN e.args ELSE IF isNew THEN Unconfigured ELSE config
        /\ LET wrong == IF isNew /\ e.kind # "start"
                        THEN IF e.seq # 0 THEN "seq" ELSE "args"
                        ELSE WhatIsWrong(e, expected)
           IN  /\ lost' = (wrong # "")
               /\ store' = IF wrong # "" THEN <<>> ELSE StoreAfter(e)
               /\ wrong # "" => PrintT(<<"departs", at, e.trace, e.seq, wrong>>)

TraceNext ==
    /\ at <= EventCount
    /\ at' = at + 1
    /\ LET e == Event(at) IN IF IsPassedOver(e) THEN UNCHANGED <<trace, nextSeq, lost, config, store>> ELSE Take(e)
    /\ UNCHANGED <<net, restarts>>

\* Where it is says which state it is.
Position == at

=============================================================================
