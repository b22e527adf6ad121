-------------------------------- MODULE DistKV --------------------------------
(***************************************************************************)
(* DistKV: servers that hold one store of entries, without a master.       *)
(*                                                                         *)
(* Each server makes its changes and sends them to all others. A chain of  *)
(* changes says what an entry's last change was based on; a chain of pings *)
(* says which servers are up, and shows when the network had been split.   *)
(* Then all servers find out which changes they have missed, and a server  *)
(* that has them sends them again.                                         *)
(*                                                                         *)
(* Written from the clauses in spec/distkv.md, whose numbers stand in      *)
(* brackets. This is the whole node but for bytes and sizes, and without   *)
(* time: a timer that runs may expire at any moment, and choices of moments *)
(* are none. Only a delay of 0 is no timer, but happens at once [DA-62].   *)
(*                                                                         *)
(* Nodes are numbers; paths, too: 0 is the root. Values are numbers from 1 *)
(* on; 0 is Null. A node that sends to all has one message under way for   *)
(* each other node. What it sends does not come back to it.                *)
(***************************************************************************)
EXTENDS Chains, Texts, TLC

CONSTANTS
    Node,          \* the nodes
    Path,          \* the paths of entries, as numbers
    MaxChange,     \* change.length, the longest chain of an entry
    MaxPing,       \* ping.length, the longest chain of a ping
    Starting,      \* how each node starts: texts such as "1 ready", or "new", "first", "old"
    Had,           \* entries at the start: texts "n p v tock cut m1 t1 m2 t2"; cut is 0 or 1
    Gone,          \* what is superseded at the start: texts "n m t"
    Shown,         \* ticks at the start, beside those that follow: texts "n m t"
    Last,          \* the ping accepted last: texts "n tock cut m1 t1 m2 t2"
    Tock,          \* tocks at the start, where another than what follows: texts "n tock"
    Heard,         \* the highest tocks of others' pings, beside what follows from Last: texts "n m tock"
    UnderWay,      \* pings under way at the start: texts "from to tock cut m1 t1"
    Todo,          \* commands of applications, in this order: texts "n i set p v", "n i delete p 0", "n i crash 0 0"
    Firing,        \* which timers may expire at all: texts such as "n ping"
    Loss,          \* whether any message may be lost
    Restarting,    \* the nodes that may start again
    Forgetful,     \* the nodes in Restarting that come back without data
    MaxRestarts,   \* the most restarts, of all nodes together
    MaxTock,       \* the highest tock
    MaxNet         \* the most messages under way

VARIABLES
    phase,        \* "empty", "old", "settling" or "ready" [DA-59]
    tock,
    ticks,        \* <<node, tick>>, one for each node that has one [DA-45]
    entries,      \* <<path, chain, value, tock>>, one for each path that has one
    superseded,   \* <<node, tick>> [DA-04]
    last,         \* <<>>, or <<chain, tock>>: the ping accepted last
    heard,        \* <<node, tock>>: the highest of its pings
    tried,        \* the nodes that it has tried to download from
    source,       \* the node from which it is doing so, or 0
    wanted,       \* <<node, tick>>: what others have asked for [DA-78]
    newcomer,     \* <<>>, or <<chain>>: of the ping to be answered [DA-68]
    recovery,     \* <<>>, or <<mine, side, lost, pinged, covered>> [DA-74]
    timers,       \* the names of those that run
    up,           \* whether the node is up
    todo,         \* what its application will still do
    restarts,     \* how many there may still be, of all nodes together
    net           \* the messages under way

kept == <<phase, tock, ticks, entries, superseded, last, heard, tried, source, wanted, newcomer, recovery, timers>>

vars == <<kept, up, todo, restarts, net>>

Timer == {"initial", "founding", "olddata", "ping", "greeting", "ticks", "missing", "known", "over", "repair", "allowed"}

-----------------------------------------------------------------------------
\* What the models leave out, or have the same for all nodes. To check recorded traces, DistKVTrace replaces these.

\* The application is notified: <<"entry_changed", path, value>> and the like. [DA-61]
Notified(state, notice) == state

ChangeLength(state) == MaxChange

PingLength(state) == MaxPing

\* What the first node sets the root to. [DA-72]
RootValue(state) == 1

-----------------------------------------------------------------------------
\* The state of one node, with the messages that it sends on an event.

Present(state) == UNION {Elements(entry[2]) : entry \in state.entries}

Known(state) == Present(state) \cup state.superseded

Missed(state) == Missing(state.ticks, Known(state))

Participates(state) == state.phase \in {"settling", "ready"}

\* The tick that it shows. [DA-46, DA-60]
OwnTick(state) == IF state.phase = "empty" THEN 0 ELSE TickOf(state.ticks, state.id)

IsRecovering(state) == state.recovery # <<>>

\* What every message and every download brings. [DA-21, DA-64]
Counted(state, at, pairs) == [state EXCEPT !.tock = Max(@, at), !.ticks = Raised(@, pairs)]

Set(state, names) == [state EXCEPT !.timers = @ \cup names]

Cancelled(state, names) == [state EXCEPT !.timers = @ \ names]

SentTo(state, m, rest) == [state EXCEPT !.sent = @ \cup {<<state.id, m>> \o rest}]

Broadcast(state, rest) == [state EXCEPT !.sent = @ \cup {<<state.id, m>> \o rest : m \in Node \ {state.id}}]

UpdateOf(entry) == <<"update">> \o entry

\* As it was, with its own tock. [D-43, DA-03, DA-48, DA-49]
SentAgain(state, entry) == Broadcast(state, UpdateOf(entry))

\* Of entries, the one with the lowest tock, of these the one with the lowest path. [DA-51]
First(some) == CHOOSE a \in some : \A b \in some : a[4] < b[4] \/ (a[4] = b[4] /\ a[1] <= b[1])

RECURSIVE AllSentAgain(_, _)
AllSentAgain(state, some) ==
    IF some = {} THEN state ELSE LET entry == First(some) IN AllSentAgain(SentAgain(state, entry), some \ {entry})

\* [DA-59]
BecameReady(state) == IF state.phase = "ready" THEN state ELSE Notified([state EXCEPT !.phase = "ready"], <<"ready">>)

\* An info that says nothing is not sent. [D-61, DA-20, DA-21, DA-25]
Informed(state, prev, known, seen, missing, reason) ==
    IF known \cup seen \cup missing = {} THEN state
    ELSE Broadcast([state EXCEPT !.tock = @ + 1],
                   <<"info", OwnTick(state), prev, state.tock + 1, known, seen, missing, reason>>)

-----------------------------------------------------------------------------
\* Updates

\* Which of two concurrent changes stays. [DA-01]
Prefers(chain, at, other, otherAt) == Beats(chain, at, other, otherAt)

IsAccepted(chain, at, entry) ==
    LET relation == Relation(chain, entry[2])
    IN  relation = "after" \/ (relation = "concurrent" /\ Prefers(chain, at, entry[2], entry[4]))

EntryAt(state, p) == {entry \in state.entries : entry[1] = p}

\* The same change with another value. [DA-18]
Contradicts(chain, value, entry) == HeadOf(chain) = HeadOf(entry[2]) /\ value # entry[3]

\* [D-57, D-58, D-16, DA-15, DA-18, DA-84, DA-85]
Applied(state, p, chain, value, at) ==
    LET before == EntryAt(state, p)
        stays == {entry \in before : ~IsAccepted(chain, at, entry)}
        after == IF stays = {} THEN {<<p, Within(chain, ChangeLength(state)), value, at>>} ELSE stays
        stored == [state EXCEPT !.entries = (@ \ before) \cup after]
        seen == Elements(chain) \cup UNION {Elements(entry[2]) : entry \in before}
        applied == [stored EXCEPT !.superseded = (@ \cup seen) \ Present(stored)]
    IN  IF stays = {} THEN Notified(applied, <<"entry_changed", p, value>>)
        ELSE IF \E entry \in stays : Contradicts(chain, value, entry)
        THEN Notified(applied, <<"contradiction", p, HeadOf(chain)>>)
        ELSE applied

\* By the node itself. [D-09, D-42, D-49, D-51, D-59, DA-10, DA-21, DA-80]
Changed(state, p, value) ==
    LET before == EntryAt(state, p)
        base == IF before = {} THEN NoChain ELSE (CHOOSE entry \in before : TRUE)[2]
        t == TickOf(state.ticks, state.id) + 1
        entry == <<p, WithChange(base, state.id, t, ChangeLength(state)), value, state.tock + 1>>
        stored == [state EXCEPT !.tock = @ + 1, !.ticks = Raised(@, {<<state.id, t>>}), !.entries = (@ \ before) \cup {entry}]
        removed == Elements(base) \ Present(stored)
        sent == Broadcast([stored EXCEPT !.superseded = @ \cup removed], UpdateOf(entry))
    IN  Notified(sent, <<"entry_changed", p, value>>)

\* [DA-78, DA-84]
UpdateReceived(state, p, chain, value, at) ==
    [Applied(Counted(state, at, Elements(chain)), p, chain, value, at) EXCEPT !.wanted = @ \ Elements(chain)]

-----------------------------------------------------------------------------
\* Pings

IsOwnStartUp(state) == state.last # <<>> /\ IsAlone(state.last[1]) /\ HeadOf(state.last[1])[1] = state.id

IsLed(state) == state.last # <<>> /\ IsAuthoritative(state.last[1], state.id)

\* When to ping, after another ping has become last. Nothing changes as long as that is an own start-up ping.
\* [D-107, DA-65…DA-67]
Decided(state) ==
    IF state.last = <<>> \/ IsOwnStartUp(state) THEN state
    ELSE IF OwnTick(state) = 0 /\ ~ZeroMayPing(state.last[1]) THEN Set(Cancelled(state, {"ping"}), {"initial"})
    ELSE Set(Cancelled(state, {"initial"}), {"ping"})

\* [D-103, D-122, DA-70]
Tried(state) ==
    LET chain == state.last[1][1]
        fit == {i \in DOMAIN chain : chain[i][1] \notin state.tried \cup {state.id} /\ HasChanged(chain[i])}
        m == chain[CHOOSE i \in fit : \A j \in fit : i <= j][1]
    IN  IF state.source # 0 \/ fit = {} THEN state
        ELSE SentTo([state EXCEPT !.source = m, !.tried = @ \cup {m}], m, <<"load">>)

LooksForDownload(state) ==
    IF Participates(state) \/ ~IsLed(state) THEN state
    ELSE Tried([state EXCEPT !.tried = {state.source} \ {0}])

\* [DA-66]
Accepted(state, chain, at) ==
    Decided(LooksForDownload(Cancelled([state EXCEPT !.last = <<Within(chain, PingLength(state)), at>>], {"initial"})))

\* An own ping, which is last from now on. [D-52…D-54, DA-37]
Pinged(state, chain) ==
    Broadcast([state EXCEPT !.tock = @ + 1, !.last = <<chain, state.tock + 1>>], <<"ping", chain, state.tock + 1>>)

\* [D-94…D-97, DA-65]
PingedAlone(state) == Set(Cancelled(Pinged(state, Alone(state.id, OwnTick(state))), {"ping"}), {"initial"})

\* [D-71, D-84, DA-41, DA-66]
PingedNext(state) == Decided(Pinged(state, WithPing(state.last[1], state.id, OwnTick(state), PingLength(state))))

-----------------------------------------------------------------------------
\* Recovery

\* Step 2 follows. [D-115, DA-77]
AfterTicks(state) ==
    IF IsRecovering(state) /\ IsOn(state.recovery[1], state.id) THEN Set(state, {"missing"}) ELSE state

\* An info with `ticks`. [D-65]
TicksShown(state, prev, reason) ==
    IF state.ticks = {} THEN state ELSE AfterTicks(Informed(state, prev, {}, state.ticks, {}, reason))

\* Step 1. [D-69, D-70, D-87, D-113, DA-44, DA-50, DA-76]
Step1(state) ==
    TicksShown(state, state.recovery[4], IF state.recovery[3] THEN <<state.recovery[1]>> ELSE <<>>)

\* An info with `missing`. [D-67, DA-79]
Asked(state, which) == IF which = {} THEN state ELSE Set(Informed(state, <<>>, {}, {}, which, <<>>), {"allowed"})

\* Step 2. [DA-77]
Step2(state) == Asked(state, Missed(state) \ state.recovery[5])

\* The content of `known`. [D-117, DA-04, DA-78]
Replaced(state) == state.wanted \ Present(state)

\* Step 3. [D-68, D-111, D-116, DA-48, DA-78]
Step3(state) ==
    LET named == {entry \in state.entries : Elements(entry[2]) \cap state.wanted # {}}
    IN  Informed(AllSentAgain([state EXCEPT !.wanted = {}], named), <<>>, Replaced(state), {}, {}, <<>>)

IsHead(chain, n) == chain[1] # <<>> /\ HeadOf(chain)[1] = n

\* [D-85, D-86, D-112, DA-74…DA-76]
Recovers(state, mine, other, lost, pinged) ==
    LET recovering == [state EXCEPT !.recovery = <<mine, Side(mine, other), lost, pinged, {}>>]
        begun == Set(Notified(recovering, <<"split_healed">>), {"over"})
    IN  IF ~Participates(state) \/ IsRecovering(state) THEN state
        ELSE IF IsHead(mine, state.id) THEN Step1(begun)
        ELSE IF IsOn(mine, state.id) THEN Set(begun, {"ticks"})
        ELSE begun

-----------------------------------------------------------------------------
\* Pings received

\* A start-up ping is answered. [D-98, DA-43, DA-68]
Greeted(state, chain) ==
    IF state.last = <<>> THEN state
    ELSE IF ~IsOn(state.last[1], state.id) THEN state
    ELSE IF "greeting" \in state.timers THEN [state EXCEPT !.newcomer = <<chain>>]
    ELSE IF IsHead(state.last[1], state.id) THEN TicksShown(state, <<chain>>, <<>>)
    ELSE Set([state EXCEPT !.newcomer = <<chain>>], {"greeting"})

\* Whether it is a collision, next, initial or a split. [D-79…D-86, D-99…D-102, DA-31, DA-69]
Judged(state, chain, at) ==
    LET before == state.last[1]
        wins == Beats(chain, at, before, state.last[2])
        isTaken == wins \/ (~Participates(state) /\ IsAlone(before))
        after == IF isTaken THEN Accepted(state, chain, at) ELSE state
    IN  IF state.last = <<>> THEN Accepted(state, chain, at)
        ELSE IF Agree(RestOf(chain), RestOf(before)) THEN IF wins THEN Accepted(state, chain, at) ELSE state
        ELSE IF Agree(RestOf(chain), before) THEN Accepted(state, chain, at)
        ELSE IF IsAlone(chain) THEN state
        ELSE Recovers(after, before, chain, isTaken, <<chain>>)

\* [DA-54, DA-69]
PingReceived(state, chain, at) ==
    LET from == HeadOf(chain)[1]
        counted == Counted(state, at, Elements(chain))
        answered == IF IsAlone(chain) /\ Participates(state) THEN Greeted(counted, chain) ELSE counted
        isStale == \E pair \in state.heard : pair[1] = from /\ at <= pair[2]
    IN  IF from = state.id THEN counted
        ELSE IF isStale THEN answered
        ELSE Judged([answered EXCEPT !.heard = Raised(@, {<<from, at>>})], chain, at)

-----------------------------------------------------------------------------
\* Infos received

OfSide(state, from) == IsRecovering(state) /\ from \in state.recovery[2]

\* What it keeps the node from sending. [D-89, D-127, DA-05, DA-68, DA-76]
TicksReceived(state, from, seen, hasReason) ==
    LET isEnough == IsNowhereBelow(seen, state.ticks)
        isInstead == isEnough /\ OfSide(state, from) /\ (hasReason \/ ~state.recovery[3])
        greeted == IF isEnough THEN Cancelled([state EXCEPT !.newcomer = <<>>], {"greeting"}) ELSE state
    IN  AfterTicks(IF isInstead THEN Cancelled(greeted, {"ticks"}) ELSE greeted)

\* [DA-04, DA-78]
KnownReceived(state, which) ==
    [state EXCEPT !.superseded = @ \cup (which \ Present(state)), !.wanted = @ \ which]

\* What another asks for, this node need not ask for as well. [DA-77]
Covered(state, from, which) == IF OfSide(state, from) THEN [state EXCEPT !.recovery[5] = @ \cup which] ELSE state

\* By whose order the answers come. [D-125, DA-47, DA-78]
OrderOf(state) ==
    IF IsRecovering(state) THEN state.recovery[1] ELSE IF state.last = <<>> THEN NoChain ELSE state.last[1]

MissingReceived(state, from, which) ==
    LET covered == Covered(state, from, which)
        asked == IF Participates(state) THEN [covered EXCEPT !.wanted = @ \cup (which \cap Known(state))] ELSE covered
    IN  IF asked.wanted = {} \/ "known" \in asked.timers THEN asked
        ELSE IF IsHead(OrderOf(asked), asked.id) THEN Step3(asked)
        ELSE Set(asked, {"known"})

\* [D-70, DA-50]
ReasonReceived(state, reason) ==
    IF reason = <<>> \/ state.last = <<>> THEN state
    ELSE IF Agree(state.last[1], reason[1]) THEN state
    ELSE Recovers(state, state.last[1], reason[1], FALSE, <<>>)

\* [DA-54, DA-64, DA-87]
InfoReceived(state, m) ==
    LET chains == {m[i][1] : i \in {i \in {5, 10} : m[i] # <<>>}}
        pairs == {<<m[1], m[4]>>} \cup UNION {Elements(chain) : chain \in chains} \cup m[7] \cup m[8]
        counted == Counted(state, m[6], pairs)
        begun == ReasonReceived(counted, m[10])
        shown == IF m[8] = {} THEN begun ELSE TicksReceived(begun, m[1], m[8], m[10] # <<>>)
        known == IF m[7] = {} THEN shown ELSE KnownReceived(shown, m[7])
    IN  IF m[1] = state.id THEN counted
        ELSE IF m[9] = {} THEN known
        ELSE MissingReceived(known, m[1], m[9])

-----------------------------------------------------------------------------
\* Downloads

\* Entries and what is superseded. [DA-10, DA-71]
Download(state) == <<state.entries, state.superseded>>

\* [DA-71]
LoadReceived(state, from) ==
    IF state.phase \in {"ready", "old"}
    THEN SentTo(state, from, <<"loaded">> \o Download(state) \o <<state.ticks, state.tock>>)
    ELSE SentTo(state, from, <<"refused">>)

RECURSIVE AllApplied(_, _)
AllApplied(state, some) ==
    IF some = {} THEN state
    ELSE LET entry == First(some) IN AllApplied(Applied(state, entry[1], entry[2], entry[3], entry[4]), some \ {entry})

\* [D-114, D-123, D-124, DA-53, DA-73]
Loaded(state, m) ==
    LET applied == AllApplied(Counted([state EXCEPT !.source = 0], m[7], m[6]), m[4])
        told == [applied EXCEPT !.superseded = @ \cup (m[5] \ Present(applied))]
        isBack == state.phase = "empty" /\ TickOf(told.ticks, state.id) # 0
        after == IF isBack /\ Missed(told) # {} THEN [told EXCEPT !.phase = "settling"] ELSE BecameReady(told)
        hasMore == state.phase = "old" /\ ~IsNowhereBelow(m[6], after.ticks)
    IN  Decided(IF hasMore THEN TicksShown(after, <<>>, <<>>) ELSE after)

\* [DA-70]
LoadFailed(state) ==
    LET without == [state EXCEPT !.source = 0] IN IF Participates(state) THEN without ELSE Tried(without)

-----------------------------------------------------------------------------
\* Everything that arrives

Received(state, m) ==
    CASE m[3] = "update" -> UpdateReceived(state, m[4], m[5], m[6], m[7])
      [] m[3] = "ping" -> PingReceived(state, m[4], m[5])
      [] m[3] = "info" -> InfoReceived(state, m)
      [] m[3] = "load" -> LoadReceived(state, m[1])
      [] m[3] = "loaded" -> IF state.source = m[1] THEN Loaded(state, m) ELSE state
      [] m[3] = "refused" -> IF state.source = m[1] THEN LoadFailed(state) ELSE state

-----------------------------------------------------------------------------
\* What a timer that expires does

\* [D-105, DA-72]
Founded(state) ==
    LET first == BecameReady(Changed(state, 0, RootValue(state)))
    IN  IF state.phase # "empty" \/ IsLed(state) THEN state
        ELSE IF state.last = <<>> THEN PingedAlone(first)
        ELSE Decided(first)

\* As long as others lead, the node looks again later. [D-104, DA-51]
OldDataSent(state) ==
    IF state.phase # "old" THEN state
    ELSE IF IsLed(state) THEN Set(state, {"olddata"})
    ELSE BecameReady(AllSentAgain(state, state.entries))

\* [DA-68]
GreetingSent(state) == TicksShown([state EXCEPT !.newcomer = <<>>], state.newcomer, <<>>)

\* [DA-74]
RecoveryEnded(state) == Cancelled([state EXCEPT !.recovery = <<>>], {"ticks", "missing"})

\* [D-119, D-120, DA-08]
Repaired(state) == Asked(state, Missed(state))

\* [DA-61]
Due(state, timer) ==
    CASE timer = "initial" -> PingedAlone(state)
      [] timer = "founding" -> Founded(state)
      [] timer = "olddata" -> OldDataSent(state)
      [] timer = "ping" -> PingedNext(state)
      [] timer = "greeting" -> GreetingSent(state)
      [] timer = "ticks" -> Step1(state)
      [] timer = "missing" -> Step2(state)
      [] timer = "known" -> Step3(state)
      [] timer = "over" -> RecoveryEnded(state)
      [] timer = "repair" -> Repaired(state)
      [] timer = "allowed" -> state

-----------------------------------------------------------------------------
\* What is looked at after each event

\* [DA-73]
Settled(state) == IF state.phase = "settling" /\ Missed(state) = {} THEN BecameReady(state) ELSE state

\* [DA-08, DA-79]
MayRepair(state) ==
    Participates(state) /\ ~IsRecovering(state) /\ "allowed" \notin state.timers /\ Missed(state) # {}

Repairing(state) == IF MayRepair(state) THEN Set(state, {"repair"}) ELSE Cancelled(state, {"repair"})

Done(state) == Repairing(Settled(state))

-----------------------------------------------------------------------------
\* The first state

Texts(texts) == {Words(text) : text \in texts}

Of(texts, n) == {words \in Texts(texts) : Number(words[1]) = n}

\* TLC keeps the values of functions only if they are asked for at once.
How == TLCEval([n \in Node |-> (CHOOSE words \in Of(Starting, n) : TRUE)[2]])

FirstEntries(n) == {<<Number(words[2]), ChainAt(words, 5), Number(words[3]), Number(words[4])>> : words \in Of(Had, n)}

PairsOf(texts, n) == {<<Number(words[2]), Number(words[3])>> : words \in Of(texts, n)}

\* None, or one.
FirstLast(n) == {<<ChainAt(words, 3), Number(words[2])>> : words \in Of(Last, n)}

Highest0(numbers) == CHOOSE a \in numbers \cup {0} : \A b \in numbers : b <= a

FirstTock(n) ==
    LET given == {Number(words[2]) : words \in Of(Tock, n)}
        pinged == {ping[2] : ping \in FirstLast(n)}
        own == {ping[2] : ping \in {ping \in FirstLast(n) : HeadOf(ping[1])[1] = n}}
    IN  IF given = {} THEN Highest0(pinged \cup {entry[4] : entry \in FirstEntries(n)}) ELSE Highest0(given \cup own)

FirstTicks(n) ==
    LET chains == {entry[2] : entry \in FirstEntries(n)} \cup {ping[1] : ping \in FirstLast(n)}
    IN  Highest(UNION {Elements(chain) : chain \in chains} \cup PairsOf(Gone, n) \cup PairsOf(Shown, n))

FirstHeard(n) ==
    LET heads == {<<HeadOf(ping[1])[1], ping[2]>> : ping \in FirstLast(n)}
    IN  Highest(PairsOf(Heard, n) \cup {pair \in heads : pair[1] # n})

FirstTimers(n) ==
    CASE How[n] = "new" -> {"initial"}
      [] How[n] = "first" -> {"founding"}
      [] How[n] = "old" -> {"initial", "olddata"}
      [] How[n] = "ready" -> IF FirstLast(n) = {} THEN {"initial"} ELSE {"ping"}

Begun == TLCEval([n \in Node |->
    Repairing(
        [id |-> n, phase |-> IF How[n] \in {"new", "first"} THEN "empty" ELSE How[n], tock |-> FirstTock(n),
         ticks |-> FirstTicks(n), entries |-> FirstEntries(n), superseded |-> PairsOf(Gone, n),
         last |-> IF FirstLast(n) = {} THEN <<>> ELSE CHOOSE ping \in FirstLast(n) : TRUE,
         heard |-> FirstHeard(n), tried |-> {}, source |-> 0, wanted |-> {}, newcomer |-> <<>>, recovery |-> <<>>,
         timers |-> FirstTimers(n), sent |-> {}])])

Script == TLCEval(
    [n \in Node |->
        [i \in 1..Cardinality(Of(Todo, n)) |->
            LET words == CHOOSE words \in Of(Todo, n) : Number(words[2]) = i
            IN  <<words[3], Number(words[4]), Number(words[5])>>]])

FirstNet ==
    {<<Number(words[1]), Number(words[2]), "ping", ChainAt(words, 4), Number(words[3])>> : words \in Texts(UnderWay)}

Fires == TLCEval({<<Number(words[1]), words[2]>> : words \in Texts(Firing)})

ASSUME DistKVAssumption ==
    /\ Node \subseteq Nat \ {0}
    /\ Path \subseteq Nat
    /\ {MaxChange, MaxPing} \subseteq Nat \ {0}
    /\ {MaxRestarts, MaxTock, MaxNet} \subseteq Nat
    /\ Loss \in BOOLEAN
    /\ Forgetful \subseteq Restarting /\ Restarting \subseteq Node
    /\ \A n \in Node : Cardinality(Of(Starting, n)) = 1 /\ How[n] \in {"ready", "new", "first", "old"}
    /\ \A n \in Node : Cardinality(FirstLast(n)) <= 1 /\ Cardinality(Of(Tock, n)) <= 1
    /\ \A n \in Node : How[n] = "old" => FirstEntries(n) # {}
    /\ \A n \in Node : \A a, b \in FirstEntries(n) : a[1] = b[1] => a = b
    /\ \A n \in Node : \A thing \in Range(Script[n]) : thing[1] \in {"set", "delete", "crash"}
    /\ Fires \subseteq Node \X Timer
    /\ \A texts \in {Starting, Had, Gone, Shown, Last, Tock, Heard, Todo, Firing} :
        texts = UNION {{text \in texts : Number(Words(text)[1]) = n} : n \in Node}
    /\ \A n \in Node : Begun[n].tock <= MaxTock
    /\ Cardinality(FirstNet) <= MaxNet

-----------------------------------------------------------------------------
\* Actions

Local(n) ==
    [id |-> n, phase |-> phase[n], tock |-> tock[n], ticks |-> ticks[n], entries |-> entries[n],
     superseded |-> superseded[n], last |-> last[n], heard |-> heard[n], tried |-> tried[n], source |-> source[n],
     wanted |-> wanted[n], newcomer |-> newcomer[n], recovery |-> recovery[n], timers |-> timers[n], sent |-> {}]

\* The node takes this state, and what it sends is under way beside these. A choice of one out of one is a value that TLC
\* finds once.
Become(changed, messages) ==
    \E state \in {Done(changed)} : \E after \in {messages \cup state.sent} :
        /\ state.tock <= MaxTock
        /\ Cardinality(after) <= MaxNet
        /\ net' = after
        /\ phase' = [phase EXCEPT ![state.id] = state.phase]
        /\ tock' = [tock EXCEPT ![state.id] = state.tock]
        /\ ticks' = [ticks EXCEPT ![state.id] = state.ticks]
        /\ entries' = [entries EXCEPT ![state.id] = state.entries]
        /\ superseded' = [superseded EXCEPT ![state.id] = state.superseded]
        /\ last' = [last EXCEPT ![state.id] = state.last]
        /\ heard' = [heard EXCEPT ![state.id] = state.heard]
        /\ tried' = [tried EXCEPT ![state.id] = state.tried]
        /\ source' = [source EXCEPT ![state.id] = state.source]
        /\ wanted' = [wanted EXCEPT ![state.id] = state.wanted]
        /\ newcomer' = [newcomer EXCEPT ![state.id] = state.newcomer]
        /\ recovery' = [recovery EXCEPT ![state.id] = state.recovery]
        /\ timers' = [timers EXCEPT ![state.id] = state.timers]

Init ==
    /\ phase = [n \in Node |-> Begun[n].phase]
    /\ tock = [n \in Node |-> Begun[n].tock]
    /\ ticks = [n \in Node |-> Begun[n].ticks]
    /\ entries = [n \in Node |-> Begun[n].entries]
    /\ superseded = [n \in Node |-> Begun[n].superseded]
    /\ last = [n \in Node |-> Begun[n].last]
    /\ heard = [n \in Node |-> Begun[n].heard]
    /\ tried = [n \in Node |-> {}]
    /\ source = [n \in Node |-> 0]
    /\ wanted = [n \in Node |-> {}]
    /\ newcomer = [n \in Node |-> <<>>]
    /\ recovery = [n \in Node |-> <<>>]
    /\ timers = [n \in Node |-> Begun[n].timers]
    /\ up = [n \in Node |-> TRUE]
    /\ todo = Script
    /\ restarts = MaxRestarts
    /\ net = FirstNet

\* Only a node that is ready does what clients ask for. Of two true halves of a disjunction TLC would make two steps.
\* [DA-42, DA-80]
IsPossible(n) == IF Head(todo[n])[1] = "crash" THEN TRUE ELSE phase[n] = "ready"

Command(n) ==
    /\ up[n]
    /\ todo[n] # <<>>
    /\ IsPossible(n)
    /\ LET thing == Head(todo[n])
       IN  IF thing[1] = "crash" THEN up' = [up EXCEPT ![n] = FALSE] /\ UNCHANGED <<kept, net>>
           ELSE Become(Changed(Local(n), thing[2], thing[3]), net) /\ UNCHANGED up
    /\ todo' = [todo EXCEPT ![n] = Tail(@)]
    /\ UNCHANGED restarts

\* The timer runs, and does not any more.
Expires(n, timer) == up[n] /\ timer \in timers[n] /\ <<n, timer>> \in Fires

Expired(n, timer) ==
    /\ Become(Due([Local(n) EXCEPT !.timers = @ \ {timer}], timer), net)
    /\ UNCHANGED <<up, todo, restarts>>

InitialPing(n) == Expires(n, "initial") /\ Expired(n, "initial")

Founding(n) == Expires(n, "founding") /\ Expired(n, "founding")

OldData(n) == Expires(n, "olddata") /\ Expired(n, "olddata")

Ping(n) == Expires(n, "ping") /\ Expired(n, "ping")

Greeting(n) == Expires(n, "greeting") /\ Expired(n, "greeting")

RecoverTicks(n) == Expires(n, "ticks") /\ Expired(n, "ticks")

RecoverMissing(n) == Expires(n, "missing") /\ Expired(n, "missing")

RecoverKnown(n) == Expires(n, "known") /\ Expired(n, "known")

RecoverOver(n) == Expires(n, "over") /\ Expired(n, "over")

Repair(n) == Expires(n, "repair") /\ Expired(n, "repair")

RepairAllowed(n) == Expires(n, "allowed") /\ Expired(n, "allowed")

\* A message to a node that is not up vanishes.
Receive ==
    \E m \in net :
        /\ IF up[m[2]] THEN Become(Received(Local(m[2]), m), net \ {m}) ELSE net' = net \ {m} /\ UNCHANGED kept
        /\ UNCHANGED <<up, todo, restarts>>

Lose ==
    /\ Loss
    /\ \E m \in net : net' = net \ {m}
    /\ UNCHANGED <<kept, up, todo, restarts>>

\* With what was on disk. [DA-58, DA-59, DA-65, DA-81]
Started(n) ==
    LET isKept == n \notin Forgetful
        isOld == isKept /\ entries[n] # {}
    IN  [id |-> n, phase |-> IF isOld THEN "old" ELSE "empty", tock |-> IF isKept THEN tock[n] ELSE 0,
         ticks |-> IF isKept THEN ticks[n] ELSE {}, entries |-> IF isKept THEN entries[n] ELSE {},
         superseded |-> IF isKept THEN superseded[n] ELSE {}, last |-> <<>>, heard |-> {}, tried |-> {}, source |-> 0,
         wanted |-> {}, newcomer |-> <<>>, recovery |-> <<>>,
         timers |-> IF isOld THEN {"initial", "olddata"} ELSE {"initial"}, sent |-> {}]

Restart(n) ==
    /\ n \in Restarting
    /\ restarts > 0
    /\ Become(Started(n), net)
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ restarts' = restarts - 1
    /\ UNCHANGED todo

Next ==
    \/ \E n \in Node : Command(n)
    \/ \E n \in Node : InitialPing(n)
    \/ \E n \in Node : Founding(n)
    \/ \E n \in Node : OldData(n)
    \/ \E n \in Node : Ping(n)
    \/ \E n \in Node : Greeting(n)
    \/ \E n \in Node : RecoverTicks(n)
    \/ \E n \in Node : RecoverMissing(n)
    \/ \E n \in Node : RecoverKnown(n)
    \/ \E n \in Node : RecoverOver(n)
    \/ \E n \in Node : Repair(n)
    \/ \E n \in Node : RepairAllowed(n)
    \/ Receive
    \/ Lose
    \/ \E n \in Restarting : Restart(n)

Spec == Init /\ [][Next]_vars

=============================================================================
