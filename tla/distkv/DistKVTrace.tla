----------------------------- MODULE DistKVTrace -----------------------------
(***************************************************************************)
(* Are the steps of recorded nodes steps of DistKV?                        *)
(*                                                                         *)
(* The same operators that are model-checked say what a node stores, sends *)
(* and waits for. What the models leave out is here, from the clauses in   *)
(* spec/distkv.md: when timers expire, sizes of messages, random choices,  *)
(* refusals, notices, and the order of what is sent (DistKVTrace.cfg).     *)
(* Each node is checked by its own lines. The only behaviour goes through  *)
(* the traces, one event after the other, and says of each that departs    *)
(* where it does so; what follows there is passed over up to the next      *)
(* start.                                                                  *)
(*                                                                         *)
(* Compared are the numbers of the lines, the random choices, refusals,    *)
(* and all effects in their order: messages, notices, and timers with      *)
(* their times. What a node stores is compared as far as it shows in them. *)
(* Not compared are fingerprints of states. DistKVTrace.json has this for  *)
(* programs that compare verdicts.                                         *)
(*                                                                         *)
(* Some events are left open, and there is no verdict on the trace from    *)
(* there on: where the clauses do not say what a node does, where the      *)
(* modules leave something out, and where numbers are too great. Opens     *)
(* says which.                                                             *)
(***************************************************************************)
EXTENDS DistKV, Times, TraceData

VARIABLES
    at,        \* the event that comes next
    trace,     \* the trace that the last event was of
    nextSeq,   \* the number that its next line must have; -1 before the first
    lost,      \* whether it has departed, or is not checked any more, since its last start
    node       \* its state, as in DistKV, and what is added below; <<>> before its start

-----------------------------------------------------------------------------
\* The state of a node is that of DistKV, whose `sent` is the sequence of all effects, with these besides:
\*     config  as in its start
\*     picks   the random choices that are still to be asked for
\*     misled  whether one was not made, or not among what it is made from
\*     open    why the step is left open, or ""

Clock(state) == state.config.clock

TraceChangeLength(state) == state.config.change_length

TracePingLength(state) == state.config.ping_length

TraceNotified(state, notice) == [state EXCEPT !.sent = Append(@, <<"notify">> \o notice)]

\* Every message goes to all. [D-01]
TraceBroadcast(state, message) == [state EXCEPT !.sent = Append(@, <<"send">> \o message)]

\* The application is to download from that node. [DA-70]
TraceSentTo(state, m, request) == TraceNotified(state, <<"needs_download", m>>)

-----------------------------------------------------------------------------
\* Values of traces as those of the module

ElementOf(element) == <<element[1], IF element[2] = <<>> THEN NoTick ELSE element[2][1]>>

ChainOf(chain) == <<[i \in DOMAIN chain[1] |-> ElementOf(chain[1][i])], chain[2]>>

\* Of no chain, or one.
OptionalChain(chains) == IF chains = <<>> THEN <<>> ELSE <<ChainOf(chains[1])>>

\* A path and a value are their canonical encodings [DA-27, DA-92], whose first bytes say what they are: the list of no names;
\* Null; a list of names of which the first is Null.
EmptyList == 144

Null == 192

LongList == 220

PathOf(path) == IF StringBytes(path) = <<EmptyList>> THEN 0 ELSE path

ValueOf(value) == IF StringBytes(value) = <<Null>> THEN 0 ELSE value

\* [D-36]
IsAboutTheSystem(path) ==
    LET bytes == StringBytes(path)
        name  == IF bytes[1] = LongList THEN 4 ELSE 2
    IN  Len(bytes) >= name /\ bytes[name] = Null

TicksOf(rows) == Range(rows)

SetsOf(rows) ==
    UNION {UNION {{<<row[1], t>> : t \in bounds[1]..bounds[2] - 1} : bounds \in Range(row[2])} : row \in Range(rows)}

\* Such sets are sets of numbers here, of which there must not be too many.
MostTicks == 10000

TicksInSets(rows) == UNION {{bounds[2] - 1 : bounds \in Range(row[2])} : row \in Range(rows)}

EntryOf(update) == <<PathOf(update.path), ChainOf(update.chain), ValueOf(update.value), update.tock>>

SenderOf(message) == message.chain[1][1][1]

\* What an info answers is behind its sender; if that is nothing, the chain is cut there. [DA-44]
PrevOf(chain) == IF Len(chain[1]) = 1 /\ chain[2] THEN <<>> ELSE <<RestOf(chain)>>

InfoOf(info) ==
    LET chain == ChainOf(info.chain)
    IN  <<"info", HeadOf(chain)[2], PrevOf(chain), info.tock, SetsOf(info.known), TicksOf(info.ticks), SetsOf(info.missing),
          OptionalChain(info.reason)>>

TimerOf(timer) ==
    CASE timer.type = "initial_ping_due" -> "initial"
      [] timer.type = "founding_due"     -> "founding"
      [] timer.type = "old_data_due"     -> "olddata"
      [] timer.type = "ping_due"         -> "ping"
      [] timer.type = "greeting_due"     -> "greeting"
      [] timer.type = "recovery_due"     -> timer.step
      [] timer.type = "recovery_over"    -> "over"
      [] timer.type = "repair_due"       -> "repair"
      [] timer.type = "repair_allowed"   -> "allowed"

-----------------------------------------------------------------------------
\* What a node is seen to do

\* In the form in which it was first sent [DA-49], and under the own name [D-40].
SeenMessage(n, message) ==
    CASE message.type = "update" -> IF message.sender = <<>> THEN UpdateOf(EntryOf(message)) ELSE <<"nested">>
      [] message.type = "ping"   -> <<"ping", ChainOf(message.chain), message.tock>>
      [] message.type = "info"   ->
            IF SenderOf(message) # n THEN <<"another's">>
            ELSE IF \E t \in TicksInSets(message.known) \cup TicksInSets(message.missing) : t > MostTicks THEN <<"beyond">>
            ELSE InfoOf(message)

SeenNotice(notice) ==
    CASE notice.type = "entry_changed"  -> <<"entry_changed", PathOf(notice.path), ValueOf(notice.value)>>
      [] notice.type = "contradiction"  -> <<"contradiction", PathOf(notice.path), ElementOf(notice.change)>>
      [] notice.type = "needs_download" -> <<"needs_download", notice.node>>
      [] notice.type = "fault"          -> <<"fault", notice.kind>>
      [] OTHER                          -> <<notice.type>>

\* Its name is an asterisk.
IsEverybody(addressee) == StringBytes(addressee) = <<42>>

Seen(n, effect) ==
    CASE effect.effect = "set_timer"    -> <<"set_timer", TimerOf(effect.timer), effect.after>>
      [] effect.effect = "cancel_timer" -> <<"cancel_timer", TimerOf(effect.timer)>>
      [] effect.effect = "notify"       -> <<"notify">> \o SeenNotice(effect.notice)
      [] effect.effect = "send"         ->
            IF IsEverybody(effect.to) THEN <<"send">> \o SeenMessage(n, effect.message) ELSE <<"send to one">>

SeenOf(e) == [i \in DOMAIN e.effects |-> Seen(e.node, e.effects[i])]

-----------------------------------------------------------------------------
\* Random choices: an answer to a question is a number, as -k - 1. [DA-62]

IsPicked(state, question, numbers) ==
    /\ state.picks # <<>>
    /\ Head(state.picks)[1] = question
    /\ Len(Head(state.picks)[2]) = 1
    /\ -Head(state.picks)[2][1] - 1 \in numbers

Picked(state) == -Head(state.picks)[2][1] - 1

WithoutPick(state) == [state EXCEPT !.picks = Tail(@)]

Misled(state) == [state EXCEPT !.misled = TRUE]

-----------------------------------------------------------------------------
\* Timers. They replace Set and Cancelled, which take their names only.

Starts(state, timer, units) ==
    [state EXCEPT !.timers = @ \cup {timer}, !.sent = Append(@, <<"set_timer", timer, units>>)]

\* The names that a node knows, its own included. [DA-39]
NamesKnown(state) == {pair[1] : pair \in state.ticks \cup state.heard} \cup {state.id}

\* [D-76, DA-38, DA-39, DA-66]
PingSet(state) ==
    LET fixed == FixedMoment(Clock(state), PingLength(state), state.last[1], state.id, OwnTick(state))
        late  == WithoutPick(state)
    IN  IF fixed # <<>> THEN Starts(state, "ping", fixed[1])
        ELSE IF ~IsPicked(state, "ping.early", 0..10 * Cardinality(NamesKnown(state)) - 1) THEN Misled(state)
        ELSE IF Picked(state) = 0 THEN Starts(late, "ping", Clock(state))
        ELSE IF ~IsPicked(late, "ping.late", LateMoments(Clock(state))) THEN Misled(late)
        ELSE Starts(WithoutPick(late), "ping", Picked(late))

\* [DA-79]
RepairSet(state) ==
    IF ~IsPicked(state, "repair.moment", RepairMoments(Clock(state))) THEN Misled(state)
    ELSE Starts(WithoutPick(state), "repair", Picked(state))

\* Off the chain as at the position length. [DA-78]
PositionOrLength(state, chain) ==
    IF IsOn(chain, state.id) THEN Position(chain, state.id) ELSE PingLength(state)

Delay(state, timer) ==
    CASE timer \in {"initial", "olddata", "over"} -> Silence(Clock(state))                            \* [DA-51, DA-65, DA-67, DA-74]
      [] timer = "greeting" -> AnswerDelay(Clock(state), Position(state.last[1], state.id))            \* [DA-68]
      [] timer = "ticks"    -> AnswerDelay(Clock(state), Position(state.recovery[1], state.id))        \* [DA-76]
      [] timer = "missing"  -> RequestDelay(Clock(state), Position(state.recovery[1], state.id))       \* [DA-77]
      [] timer = "known"    -> AnswerDelay(Clock(state), PositionOrLength(state, OrderOf(state)))      \* [DA-78]
      [] timer = "allowed"  -> RepairSilence(Clock(state))                                            \* [DA-79]

\* Two that run already run on. [DA-77, DA-79]
TraceSet(state, names) ==
    LET timer == CHOOSE timer \in names : TRUE
    IN  IF timer \in {"missing", "repair"} \cap state.timers THEN state
        ELSE IF timer = "ping" THEN PingSet(state)
        ELSE IF timer = "repair" THEN RepairSet(state)
        ELSE Starts(state, timer, Delay(state, timer))

\* Of several, "ticks" comes before "missing", which is the order of the steps.
RECURSIVE TraceCancelled(_, _)
TraceCancelled(state, names) ==
    LET running == names \cap state.timers
        timer   == IF "ticks" \in running THEN "ticks" ELSE CHOOSE timer \in running : TRUE
    IN  IF running = {} THEN state
        ELSE TraceCancelled([state EXCEPT !.timers = @ \ {timer}, !.sent = Append(@, <<"cancel_timer", timer>>)], running \ {timer})

-----------------------------------------------------------------------------
\* Sizes in bytes: the wire format, and MessagePack's shortest headers [DA-29]

IntegerSize(number) ==
    IF number < 128 THEN 1 ELSE IF number < 256 THEN 2 ELSE IF number < 65536 THEN 3 ELSE 5

LastIntegerSize == 9

HeaderSize(count) == IF count <= 15 THEN 1 ELSE IF count < 65536 THEN 3 ELSE 5

StringFieldSize(size) == size + (IF size <= 31 THEN 1 ELSE IF size <= 255 THEN 2 ELSE IF size < 65536 THEN 3 ELSE 5)

\* Names of members are short.
KeySize(letters) == 1 + letters

RECURSIVE Sum(_)
Sum(numbers) == IF numbers = <<>> THEN 0 ELSE Head(numbers) + Sum(Tail(numbers))

ElementSize(element) ==
    KeySize(4) + StringFieldSize(StringSize(element[1]))
    + (IF element[2] = NoTick THEN 0 ELSE KeySize(4) + IntegerSize(element[2]))

\* The members of a chain: of each element node and tick, and prev, which is a map, or Null, or absent.
ChainMembersSize(chain) ==
    LET count == Len(chain[1])
        prevs == count - 1 + (IF chain[2] THEN 0 ELSE 1)
    IN  Sum([i \in 1..count |-> ElementSize(chain[1][i])]) + prevs * (KeySize(4) + 1)

PathSize(path) == IF path = 0 THEN 1 ELSE StringSize(path)

ValueSize(value) == IF value = 0 THEN 1 ELSE StringSize(value)

UpdateSize(path, chain, value, tockSize) ==
    1 + ChainMembersSize(chain) + KeySize(4) + PathSize(path) + KeySize(5) + ValueSize(value) + KeySize(4) + tockSize

Room(state) == state.config.max_payload

Fits(state, entry) == UpdateSize(entry[1], entry[2], entry[3], IntegerSize(entry[4])) <= Room(state)

\* What does not fit is not sent again. [DA-82]
TraceSentAgain(state, entry) ==
    IF Fits(state, entry) THEN Broadcast(state, UpdateOf(entry)) ELSE Notified(state, <<"fault", "too_large">>)

-----------------------------------------------------------------------------
\* Infos, which are divided if they do not fit [DA-82]. A part is <<node, begin, end>>; of ticks, <<node, tick, tick>>.

RECURSIVE SequenceOf(_)
SequenceOf(set) == IF set = {} THEN <<>> ELSE LET one == CHOOSE one \in set : TRUE IN <<one>> \o SequenceOf(set \ {one})

IsBefore(part, other) == part[1] < other[1] \/ (part[1] = other[1] /\ part[2] < other[2])

\* The ranges of a set, none of which touch. [DA-24]
RangesOf(pairs) ==
    LET begins == {pair \in pairs : <<pair[1], pair[2] - 1>> \notin pairs}
        lasts  == {pair \in pairs : <<pair[1], pair[2] + 1>> \notin pairs}
        lastOf(pair) == CHOOSE a \in lasts : a[1] = pair[1] /\ a[2] >= pair[2] /\ \A t \in pair[2]..a[2] : <<a[1], t>> \in pairs
    IN  {<<pair[1], pair[2], lastOf(pair)[2] + 1>> : pair \in begins}

PartsOf(kind, pairs) ==
    SortSeq(SequenceOf(IF kind = "ticks" THEN {<<pair[1], pair[2], pair[2]>> : pair \in pairs} ELSE RangesOf(pairs)), IsBefore)

PartSize(part) ==
    IF part[3] <= part[2] + 1 THEN IntegerSize(part[2]) ELSE 1 + IntegerSize(part[2]) + IntegerSize(part[3])

\* A map of nodes: of ticks, or of lists of ranges.
MapSize(kind, parts) ==
    LET names == SequenceOf({part[1] : part \in Range(parts)})
        count(n) == Cardinality({i \in DOMAIN parts : parts[i][1] = n})
        row(n) == StringFieldSize(StringSize(n)) + (IF kind = "ticks" THEN 0 ELSE HeaderSize(count(n)))
    IN  HeaderSize(Len(names)) + Sum([i \in DOMAIN names |-> row(names[i])])
        + Sum([i \in DOMAIN parts |-> PartSize(parts[i])])

\* The chain behind the sender, or none.
BehindSender(state, prev) ==
    <<<<<<state.id, OwnTick(state)>>>> \o (IF prev = <<>> THEN <<>> ELSE prev[1][1]), IF prev = <<>> THEN TRUE ELSE prev[1][2]>>

InfoSize(state, kind, parts, prev, reason) ==
    1 + KeySize(IF kind = "missing" THEN 7 ELSE 5) + MapSize(kind, parts)
    + (IF reason = <<>> THEN 0 ELSE KeySize(6) + 1 + ChainMembersSize(reason[1]))
    + KeySize(4) + IntegerSize(state.tock + 1) + ChainMembersSize(BehindSender(state, prev))

PairsOfParts(kind, parts) ==
    UNION {{<<part[1], t>> : t \in part[2]..(IF kind = "ticks" THEN part[2] ELSE part[3] - 1)} : part \in Range(parts)}

InfoSent(state, kind, parts, prev, reason) ==
    LET pairs == PairsOfParts(kind, parts)
        of(name) == IF kind = name THEN pairs ELSE {}
    IN  Broadcast([state EXCEPT !.tock = @ + 1],
                  <<"info", OwnTick(state), prev, state.tock + 1, of("known"), of("ticks"), of("missing"), reason>>)

\* Each element of a chain is a map within the one before. [DA-92]
MostDeep == 64

Depth(state, prev, reason) ==
    Max(Len(BehindSender(state, prev)[1]), IF reason = <<>> THEN 0 ELSE 1 + Len(reason[1][1]))

RECURSIVE Divided(_, _, _, _, _)
Divided(state, kind, parts, prev, reason) ==
    LET fits(count, before, because) ==
            /\ Depth(state, before, because) <= MostDeep
            /\ InfoSize(state, kind, SubSeq(parts, 1, count), before, because) <= Room(state)
        most(before, because) ==
            IF fits(Len(parts), before, because) THEN Len(parts)
            ELSE CHOOSE count \in 1..Len(parts) - 1 :
                    fits(count, before, because) /\ ~fits(count + 1, before, because)
        filled(before, because) ==
            LET count == most(before, because)
            IN  Divided(InfoSent(state, kind, SubSeq(parts, 1, count), before, because), kind,
                        SubSeq(parts, count + 1, Len(parts)), <<>>, <<>>)
    IN  IF parts = <<>> THEN state
        ELSE IF fits(1, prev, reason) THEN filled(prev, reason)
        ELSE IF fits(1, <<>>, reason) THEN filled(<<>>, reason)
        ELSE IF fits(1, <<>>, <<>>) THEN filled(<<>>, <<>>)
        ELSE [state EXCEPT !.open = "an info cannot be divided"]

\* One of the three sets says something, or none does.
TraceInformed(state, prev, known, seen, missing, reason) ==
    LET kind == IF known # {} THEN "known" ELSE IF seen # {} THEN "ticks" ELSE "missing"
    IN  Divided(state, kind, PartsOf(kind, known \cup seen \cup missing), prev, reason)

-----------------------------------------------------------------------------
\* What is left open

MostClock == 10000000

TicksAt(chain) == {pair[2] : pair \in Elements(ChainOf(chain))}

TicksInRows(rows) == {row[2] : row \in Range(rows)}

TicksInUpdates(updates) == UNION {TicksAt(update.chain) : update \in Range(updates)}

TicksIn(e) ==
    CASE e.kind = "recv" /\ e.args.type = "info" ->
            TicksAt(e.args.chain) \cup TicksInSets(e.args.known) \cup TicksInSets(e.args.missing) \cup TicksInRows(e.args.ticks)
            \cup (IF e.args.reason = <<>> THEN {} ELSE TicksAt(e.args.reason[1]))
      [] e.kind = "recv" /\ e.args.type = "update" ->
            TicksAt(e.args.chain) \cup (IF e.args.sender = <<>> THEN {} ELSE {e.args.sender[1][2]})
      [] e.kind = "recv" /\ e.args.type = "ping" -> TicksAt(e.args.chain)
      [] e.kind = "api" /\ e.args.type = "loaded" ->
            TicksInUpdates(e.args.entries) \cup TicksInSets(e.args.superseded) \cup TicksInRows(e.args.ticks)
      [] e.kind = "start" /\ e.args.stored # <<>> ->
            TicksInUpdates(e.args.stored[1][2]) \cup TicksInSets(e.args.stored[1][3]) \cup TicksInRows(e.args.stored[1][4])
      [] OTHER -> {}

TooManyTicks == "a tick is above 10,000"

Opens(e) ==
    CASE \E t \in TicksIn(e) : t > MostTicks -> TooManyTicks
      [] e.kind = "start" /\ e.args.clock > MostClock -> "the clock is above 10,000,000 ms"
      [] e.kind = "timer" /\ TimerOf(e.args) \notin node.timers -> "this timer does not run"
      [] e.kind = "api" /\ e.args.type = "load_failed" /\ e.args.node # node.source -> "nothing is downloaded from there"
      [] OTHER -> ""

\* A message that brings one more name than these is dropped, and it is not said what else counts. [DA-83]
MostNames == 4096

-----------------------------------------------------------------------------
\* A start [DA-58, DA-59, DA-65, DA-72, DA-81, DA-83]

TraceRootValue(state) == ValueOf(state.config.root[1])

\* The update of the root at the last tick and tock.
LastRootSize(e) ==
    UpdateSize(0, Alone(e.node, 0), ValueOf(e.args.root[1]), LastIntegerSize) - IntegerSize(0) + LastIntegerSize

\* It is not said for which reason.
IsStartRefused(e) ==
    \/ StringSize(e.node) \notin 1..64
    \/ IF e.args.root = <<>> THEN FALSE ELSE LastRootSize(e) > e.args.max_payload

Begins(e) ==
    LET stored  == IF e.args.stored = <<>> THEN <<0, <<>>, <<>>, <<>>>> ELSE e.args.stored[1]
        had     == {EntryOf(update) : update \in Range(stored[2])}
        isOld   == had # {}
        isFirst == ~isOld /\ e.args.root # <<>>
        state   == [id |-> e.node, phase |-> IF isOld THEN "old" ELSE "empty", tock |-> stored[1], ticks |-> TicksOf(stored[4]),
                    entries |-> had, superseded |-> SetsOf(stored[3]), last |-> <<>>, heard |-> {}, tried |-> {}, source |-> 0,
                    wanted |-> {}, newcomer |-> <<>>, recovery |-> <<>>, timers |-> {}, sent |-> <<>>, config |-> e.args,
                    picks |-> e.picks, misled |-> FALSE, open |-> ""]
        first   == IF e.args.start = <<>> THEN e.args.clock ELSE e.args.start[1]
        begun   == Starts(state, IF isFirst THEN "founding" ELSE "initial", first)
    IN  IF isOld THEN TraceSet(begun, {"olddata"}) ELSE begun

-----------------------------------------------------------------------------
\* A message. Whether another node has the own name is looked at before it counts. [DA-63]

IsNameTaken(state, message) ==
    /\ Participates(state)
    /\ SenderOf(message) = state.id
    /\ IF message.type = "update"
       THEN HeadOf(ChainOf(message.chain))[2] > TickOf(state.ticks, state.id)
       ELSE message.tock > state.tock

Arrived(before, message) ==
    LET state == IF IsNameTaken(before, message) THEN Notified(before, <<"fault", "name_taken">>) ELSE before
        entry == EntryOf(message)
    IN  CASE message.type = "update" ->
                UpdateReceived(Counted(state, 0, Range(message.sender)), entry[1], entry[2], entry[3], entry[4])
          [] message.type = "ping" -> PingReceived(state, ChainOf(message.chain), message.tock)
          [] message.type = "info" -> InfoReceived(state, <<SenderOf(message), state.id>> \o InfoOf(message))

-----------------------------------------------------------------------------
\* Commands

IsChange(command) == command.type \in {"set_value", "delete_value"}

NewValue(command) == IF command.type = "delete_value" THEN 0 ELSE ValueOf(command.value)

\* An own change has one message.
AfterChange(state, command) == Changed(state, PathOf(command.path), NewValue(command))

MessageSize(message) == UpdateSize(message[3], message[4], message[5], IntegerSize(message[6]))

\* [DA-12, DA-73, DA-80]
CommandRefused(state, command) ==
    IF IsChange(command)
    THEN IF state.phase # "ready" THEN "not_ready"
         ELSE IF IsAboutTheSystem(command.path) THEN "bad_path"
         ELSE IF MessageSize(AfterChange(state, command).sent[1]) > Room(state) THEN "too_large"
         ELSE ""
    ELSE IF command.type = "loaded" /\ command.node # state.source THEN "not_loading"
    ELSE ""

\* The ticks of a download are also those of the changes in it. [DA-64, DA-73]
AfterCommand(state, command) ==
    IF IsChange(command) THEN AfterChange(state, command)
    ELSE IF command.type = "load_failed" THEN LoadFailed(state)
    ELSE LET some    == {EntryOf(update) : update \in Range(command.entries)}
             gone    == SetsOf(command.superseded)
             counted == Counted(state, 0, gone \cup UNION {Elements(entry[2]) : entry \in some})
         IN  Loaded(counted, <<command.node, state.id, "loaded", some, gone, TicksOf(command.ticks), command.tock>>)

-----------------------------------------------------------------------------
\* What is found out about an event: <<"agrees", state>>, <<"departs", what>> or <<"undetermined", why>>

Refusal(e) ==
    CASE e.kind = "start" -> IF IsStartRefused(e) THEN (IF e.refused = "" THEN "refused" ELSE e.refused) ELSE ""
      [] e.kind = "api" -> CommandRefused(node, e.args)
      [] OTHER -> ""

Reached(e) ==
    LET state == [node EXCEPT !.picks = e.picks]
        timer == TimerOf(e.args)
    IN  CASE e.kind = "start" -> Begins(e)
          [] e.kind = "recv" -> Done(Arrived(state, e.args))
          [] e.kind = "timer" -> Done(Due([state EXCEPT !.timers = @ \ {timer}], timer))
          [] e.kind = "api" -> Done(AfterCommand(state, e.args))

Compared(e, state) ==
    IF state.open # "" THEN <<"undetermined", state.open>>
    ELSE IF \E pair \in state.ticks : pair[2] > MostTicks THEN <<"undetermined", TooManyTicks>>
    ELSE IF Cardinality(NamesKnown(state)) > MostNames THEN <<"undetermined", "it knows more than 4,096 names">>
    ELSE IF state.misled \/ state.picks # <<>> THEN <<"departs", "picks">>
    ELSE IF e.refused # "" THEN <<"departs", "refused">>
    ELSE IF SeenOf(e) # state.sent THEN <<"departs", "effects">>
    ELSE <<"agrees", [state EXCEPT !.sent = <<>>]>>

ComparedRefusal(e) ==
    IF e.picks # <<>> THEN <<"departs", "picks">>
    ELSE IF e.refused # Refusal(e) THEN <<"departs", "refused">>
    ELSE IF e.effects # <<>> THEN <<"departs", "effects">>
    ELSE <<"agrees", IF e.kind = "start" THEN <<>> ELSE node>>

Finding(e, isNew, expected) ==
    IF e.seq # expected THEN <<"departs", "seq">>
    ELSE IF e.readable # "yes" \/ (e.kind # "start" /\ (isNew \/ node = <<>>)) THEN <<"departs", "args">>
    ELSE IF Opens(e) # "" THEN <<"undetermined", Opens(e)>>
    ELSE IF Refusal(e) # "" THEN ComparedRefusal(e)
    ELSE Compared(e, Reached(e))

-----------------------------------------------------------------------------

TraceInit ==
    /\ at = 1
    /\ trace = 0
    /\ nextSeq = -1
    /\ lost = FALSE
    /\ node = <<>>
    /\ phase = <<>> /\ tock = <<>> /\ ticks = <<>> /\ entries = <<>> /\ superseded = <<>> /\ last = <<>> /\ heard = <<>>
    /\ tried = <<>> /\ source = <<>> /\ wanted = <<>> /\ newcomer = <<>> /\ recovery = <<>> /\ timers = <<>>
    /\ up = <<>> /\ todo = <<>> /\ restarts = 0 /\ net = {}

\* A node begins with its first line, and again with the first start after it has departed.
IsBeginning(e) == e.kind = "start" /\ (e.trace # trace \/ lost)

IsPassedOver(e) == e.trace = trace /\ lost /\ ~IsBeginning(e)

Take(e) ==
    LET isNew    == e.trace # trace
        expected == IF IsBeginning(e) THEN e.seq ELSE IF isNew THEN 0 ELSE nextSeq
    IN  /\ trace' = e.trace
        /\ nextSeq' = e.seq + 1
        /\ \E finding \in {Finding(e, isNew, expected)} :
            /\ lost' = (finding[1] # "agrees")
            /\ node' = IF finding[1] = "agrees" THEN finding[2] ELSE <<>>
            /\ finding[1] # "agrees" => PrintT(<<finding[1], at, e.trace, e.seq, finding[2]>>)

TraceNext ==
    /\ at <= EventCount
    /\ at' = at + 1
    /\ LET e == Event(at) IN IF IsPassedOver(e) THEN UNCHANGED <<trace, nextSeq, lost, node>> ELSE Take(e)
    /\ UNCHANGED vars

\* Where it is says which state it is.
PositionInTraces == at

=============================================================================
