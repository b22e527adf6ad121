------------------------------- MODULE MCDistKV -------------------------------
(***************************************************************************)
(* Properties of DistKV for the model checker.                             *)
(*                                                                         *)
(* Models with expected counterexamples use the claims at the end, or      *)
(* replace a definition of DistKV by one from here.                        *)
(***************************************************************************)
EXTENDS DistKV

Up == {n \in Node : up[n]}

Still == net = {}

OfKind(kind) == {m \in net : m[3] = kind}

-----------------------------------------------------------------------------
\* Types

IsTick(pair) == pair[1] \in Node /\ pair[2] \in Nat

AreTicks(pairs) == \A pair \in pairs : IsTick(pair)

IsOnePerNode(pairs) == AreTicks(pairs) /\ \A a, b \in pairs : a[1] = b[1] => a = b

IsChain(chain) == chain[1] # <<>> /\ AreTicks(Elements(chain)) /\ chain[2] \in BOOLEAN

IsPingChain(chain) == IsChain(chain) /\ Len(chain[1]) <= MaxPing

IsOptional(chains) == chains = <<>> \/ (Len(chains) = 1 /\ IsPingChain(chains[1]))

\* [DI-01]
IsBounded(chain) == IsChain(chain) /\ Len(chain[1]) <= MaxChange /\ Cardinality(Nodes(chain)) = Len(chain[1])

IsEntry(entry) ==
    entry[1] \in Path /\ IsBounded(entry[2]) /\ entry[3] \in Nat /\ entry[4] \in 1..MaxTock

AreEntries(some) == (\A entry \in some : IsEntry(entry)) /\ \A a, b \in some : a[1] = b[1] => a = b

IsMessage(m) ==
    /\ m[1] \in Node /\ m[2] \in Node \ {m[1]}
    /\ CASE m[3] = "update" -> IsEntry(<<m[4], m[5], m[6], m[7]>>)
         [] m[3] = "ping" -> IsPingChain(m[4]) /\ HeadOf(m[4])[1] = m[1] /\ m[5] \in 1..MaxTock
         [] m[3] = "info" ->
                /\ m[4] \in Nat /\ m[6] \in 1..MaxTock
                /\ IsOptional(m[5]) /\ IsOptional(m[10])
                /\ IsOnePerNode(m[8]) /\ AreTicks(m[7] \cup m[9])
                /\ Cardinality({i \in {7, 8, 9} : m[i] # {}}) = 1
                /\ m[5] # <<>> \/ m[10] # <<>> => m[8] # {}
         [] m[3] = "load" -> Len(m) = 3
         [] m[3] = "loaded" -> AreEntries(m[4]) /\ AreTicks(m[5]) /\ IsOnePerNode(m[6]) /\ m[7] \in 0..MaxTock
         [] m[3] = "refused" -> Len(m) = 3

IsRecovery(n) ==
    recovery[n] # <<>> =>
        /\ IsPingChain(recovery[n][1])
        /\ recovery[n][2] \subseteq Nodes(recovery[n][1])
        /\ recovery[n][3] \in BOOLEAN
        /\ IsOptional(recovery[n][4])
        /\ AreTicks(recovery[n][5])

\* Which timers run follows for some of them from the rest.
AreTimers(n) ==
    /\ timers[n] \subseteq Timer
    /\ ~({"ping", "initial"} \subseteq timers[n])
    /\ ("greeting" \in timers[n]) <=> newcomer[n] # <<>>
    /\ "olddata" \in timers[n] => entries[n] # {}
    /\ "ping" \in timers[n] => last[n] # <<>>
    /\ timers[n] \cap {"ticks", "missing"} # {} => recovery[n] # <<>>
    /\ ("over" \in timers[n]) <=> recovery[n] # <<>>
    /\ wanted[n] # {} => "known" \in timers[n]
    /\ ("repair" \in timers[n]) <=> MayRepair(Local(n))
    /\ phase[n] \in {"empty", "old"} => timers[n] \cap {"greeting", "ticks", "missing", "known", "over", "repair", "allowed"} = {}

TypeOK ==
    /\ restarts \in 0..MaxRestarts
    /\ \A n \in Node :
        /\ phase[n] \in {"empty", "old", "settling", "ready"}
        /\ tock[n] \in 0..MaxTock
        /\ IsOnePerNode(ticks[n]) /\ IsOnePerNode(heard[n]) /\ AreTicks(superseded[n]) /\ AreTicks(wanted[n])
        /\ AreEntries(entries[n])
        /\ last[n] = <<>> \/ (IsPingChain(last[n][1]) /\ last[n][2] \in 1..MaxTock)
        /\ source[n] \in tried[n] \cup {0} /\ tried[n] \subseteq Node \ {n}
        /\ IsOptional(newcomer[n])
        /\ IsRecovery(n)
        /\ AreTimers(n)
        /\ up[n] \in BOOLEAN
        /\ \E i \in 0..Len(Script[n]) : todo[n] = SubSeq(Script[n], i + 1, Len(Script[n]))
    /\ Cardinality(net) <= MaxNet
    /\ \A m \in net : IsMessage(m)

-----------------------------------------------------------------------------
\* The store

\* All changes that there are: <<path, chain, value, tock>>.
Changes ==
    UNION {entries[n] : n \in Node} \cup {<<m[4], m[5], m[6], m[7]>> : m \in OfKind("update")} \cup
        UNION {m[4] : m \in OfKind("loaded")}

\* A node that has lost data, at a restart or before the first state, is not checked for its own changes.
HasAll(n) ==
    /\ n \notin Forgetful
    /\ \A m \in Node : TickOf(Begun[m].ticks, n) <= TickOf(Begun[n].ticks, n)

\* [DI-02]
OwnComplete ==
    \A n \in {n \in Node : HasAll(n)} :
        {pair \in Known(Local(n)) : pair[1] = n} = {<<n, t>> : t \in 1..TickOf(ticks[n], n)}

\* [DI-03]
PresentIsStored == \A n \in Node : Present(Local(n)) \cap superseded[n] = {}

\* Whatever is seen raises ticks. [DA-45, DA-64]
TicksSeen == \A n \in Node : \A pair \in Known(Local(n)) : pair[2] <= TickOf(ticks[n], pair[1])

\* [DI-05]
ChainsFollowTocks ==
    \A a, b \in Changes : a[1] = b[1] /\ Relation(a[2], b[2]) = "before" => a[4] < b[4]

Replaces(a, b) == IsAccepted(a[2], a[4], b)

\* [DI-06]
BetterIsOrder ==
    \A a, b \in Changes : a[1] = b[1] /\ HeadOf(a[2]) # HeadOf(b[2]) =>
        /\ Beats(a[2], a[4], b[2], b[4]) <=> ~Beats(b[2], b[4], a[2], a[4])
        /\ Replaces(a, b) <=> ~Replaces(b, a)
        /\ \A c \in Changes : c[1] = a[1] => ~(Replaces(a, b) /\ Replaces(b, c) /\ Replaces(c, a))

\* [DI-15]
OneTickOneChange ==
    \A a, b \in Changes : HeadOf(a[2]) = HeadOf(b[2]) => a[1] = b[1] /\ a[3] = b[3] /\ a[4] = b[4]

\* The changes that are behind the ticks that any node has seen.
AllTicks == Highest(UNION {ticks[n] : n \in Up})

KnowsAll(n) == Missing(AllTicks, Known(Local(n))) = {}

\* [DI-07]
Converged == Still /\ (\A n \in Up : KnowsAll(n)) => \A n, m \in Up : entries[n] = entries[m]

-----------------------------------------------------------------------------
\* From one state to the next

IsRestarted == restarts' # restarts

EntryOf(some, p) == {entry \in some : entry[1] = p}

\* [DI-08]
TockOfEntry ==
    [][~IsRestarted => \A n \in Node : \A entry \in entries[n] : \E after \in entries'[n] :
        after[1] = entry[1] /\ after[4] >= entry[4]]_vars

\* A change that replaces another had not come before it; what was deleted, too, comes back only so. [DI-01, DI-09]
DeletedStays ==
    [][~IsRestarted => \A n \in Node : \A entry \in entries[n] : \A after \in entries'[n] :
        after[1] = entry[1] /\ after # entry => Relation(after[2], entry[2]) \in {"after", "concurrent"}]_vars

NewMessages == net' \ net

TockOf(m) ==
    CASE m[3] = "update" -> m[7] [] m[3] = "ping" -> m[5] [] m[3] = "info" -> m[6] [] OTHER -> 0

\* The sender does not send it again.
IsOriginated(m) == m[3] \in {"ping", "info"} \/ (m[3] = "update" /\ <<m[4], m[5], m[6], m[7]>> \notin entries[m[1]])

Taken == net \ net'

\* Above all that the sender has received and sent; and two of one step differ. [DI-04]
TockRises ==
    [][\A m \in NewMessages : IsOriginated(m) =>
        /\ TockOf(m) > tock[m[1]]
        /\ \A other \in Taken : other[2] = m[1] => TockOf(m) > TockOf(other)
        /\ \A other \in NewMessages : IsOriginated(other) /\ other[1] = m[1] /\ TockOf(other) = TockOf(m) =>
            Tail(Tail(other)) = Tail(Tail(m))]_vars

\* [DI-12]
ReadyOnce == [][~IsRestarted => \A n \in Node : phase[n] = "ready" => phase'[n] = "ready"]_vars

WasLoaded(n) == source[n] # 0 /\ source'[n] = 0 /\ \E m \in Taken : m[1] = source[n] /\ m[2] = n /\ m[3] = "loaded"

WasFounded(n) == "founding" \in timers[n] \ timers'[n]

MissedNext(n) == Missing(ticks'[n], UNION {Elements(entry[2]) : entry \in entries'[n]} \cup superseded'[n])

\* [DI-16]
ReadyWithData ==
    [][\A n \in Node : phase[n] # phase'[n] /\ phase'[n] \in {"settling", "ready"} =>
        /\ phase[n] = "old" => entries[n] # {} /\ phase'[n] = "ready"
        /\ phase[n] = "empty" => WasLoaded(n) \/ (WasFounded(n) /\ phase'[n] = "ready")
        /\ WasLoaded(n) /\ phase[n] = "empty" /\ TickOf(ticks'[n], n) # 0 =>
            (phase'[n] = "ready" <=> MissedNext(n) = {})
        /\ phase[n] = "settling" => MissedNext(n) = {}]_vars

\* [DI-18]
PassiveIsQuiet ==
    [][\A m \in NewMessages : phase[m[1]] \in {"empty", "old"} /\ m[3] \in {"update", "info"} =>
        /\ phase'[m[1]] \in {"settling", "ready"}
        /\ m[3] = "info" => phase[m[1]] = "old" /\ WasLoaded(m[1])
        /\ m[3] = "update" => ("olddata" \in timers[m[1]] \ timers'[m[1]] \/ WasFounded(m[1]))]_vars

-----------------------------------------------------------------------------
\* Pings

Pings == {<<m[4], m[5]>> : m \in OfKind("ping")} \cup {last[n] : n \in {n \in Node : last[n] # <<>>}}

\* [DI-10]
PingOrder ==
    \A a, b \in Pings : HeadOf(a[1])[1] # HeadOf(b[1])[1] =>
        (Beats(a[1], a[2], b[1], b[2]) <=> ~Beats(b[1], b[2], a[1], a[2]))

\* A node that will ping has decided so with a tick, or is allowed to with the tick zero. [D-107, DA-67]
ZeroIsSilent ==
    \A n \in Node : "ping" \in timers[n] /\ OwnTick(Local(n)) = 0 => ZeroMayPing(last[n][1])

-----------------------------------------------------------------------------
\* In the end

\* Nothing is under way, and nothing can be done.
AtRest ==
    /\ Still
    /\ Restarting = {} \/ restarts = 0
    /\ \A n \in Up : ~(\E timer \in timers[n] : <<n, timer>> \in Fires) /\ (todo[n] = <<>> \/ ~IsPossible(n))

\* Whatever can be done is done, one time or another: for nothing here goes on for ever.
FairSpec == Init /\ [][Next]_vars /\ <>[]AtRest

\* A timer that does nothing but run again [DA-51]; or that could only send what comes after the last tock of the model.
DoesNothing(n, timer) ==
    \/ timer = "olddata" /\ phase[n] = "old" /\ IsLed(Local(n))
    \/ timer = "ping" /\ tock[n] = MaxTock

\* Nothing is under way, and only timers run on.
OnlyTimers == Still /\ \A n \in Up : \A timer \in timers[n] : <<n, timer>> \in Fires => DoesNothing(n, timer)

\* Whatever can be done is done, also if a timer runs again and again, for which nothing comes to rest.
FairTimers == Init /\ [][Next]_vars /\ <>[]OnlyTimers

NothingMissing == \A n \in Up : Participates(Local(n)) => Missed(Local(n)) = {}

\* [DL-01, DL-02, DL-03]
EventuallyNothingMissing == <>[]NothingMissing

\* [DL-04]
EventuallyAllReady == <>[](\A n \in Up : phase[n] = "ready")

-----------------------------------------------------------------------------
\* Reachability checks: each claims that something never happens, and must fail.

\* No node delays the answer to a start-up ping. [DA-68]
NeverGreets == \A n \in Node : newcomer[n] = <<>>

\* No node that has downloaded still waits for missing changes. [DA-73]
NeverSettling == \A n \in Node : phase[n] # "settling"

\* No node asks a second node for a download. [DA-70]
NeverAsksNext == \A n \in Node : Cardinality(tried[n]) <= 1

\* No node with data from before has more than what it downloads. [DA-73]
NeverHasMore == \A m \in OfKind("info") : m[8] # {} => m[5] # <<>> \/ m[10] # <<>>

\* No node sends the reason of its recovery. [DA-50]
NeverReason == \A m \in OfKind("info") : m[10] = <<>>

\* No node recovers because of a reason. [DA-50]
NeverBecause == \A n \in Node : recovery[n] = <<>> \/ recovery[n][4] # <<>>

\* No node hears of another that asks for the same changes. [DA-77]
NeverCovered == \A n \in Node : recovery[n] = <<>> \/ recovery[n][5] = {}

\* No node reports superseded changes. [D-117]
NeverReplaced == \A m \in OfKind("info") : m[7] = {}

\* No other node has answered before the turn of a node. [DA-78]
NeverAnsweredFor == \A n \in Node : "known" \in timers[n] => wanted[n] # {}

\* No node that is off the chain answers. [DA-78]
NeverOffChain == \A n \in Node : "known" \in timers[n] => IsOn(OrderOf(Local(n)), n)

\* No node is forbidden to ping, so that it will send a start-up ping. [DA-67]
NeverForbidden ==
    \A n \in Node : "initial" \in timers[n] /\ last[n] # <<>> => IsOwnStartUp(Local(n))

\* No node has changed an entry of which it had not seen the last change. [DA-01]
NeverConflict ==
    \A a, b \in Changes : a[1] = b[1] => Relation(a[2], b[2]) # "concurrent"

\* No chain of changes is cut. [D-15, D-19]
NeverCut == \A a \in Changes : ~a[2][2]

-----------------------------------------------------------------------------
\* Counterexamples: false claims, and definitions that make claims false

\* All that the sender has seen, as the document says: also what exists. [DX-01]
ReplacedOrNot(state) == Known(state)

\* No message has a tock that is not above its sender's, those that are sent again included. [DX-02]
TockRisesAlways == [][\A m \in NewMessages : TockOf(m) # 0 => TockOf(m) > tock[m[1]]]_vars

\* What came before what came before a change, came before it. [DX-03]
BeforeIsTransitive ==
    \A a, b, c \in Changes : a[1] = b[1] /\ b[1] = c[1] =>
        (Relation(a[2], b[2]) = "before" /\ Relation(b[2], c[2]) = "before" => Relation(a[2], c[2]) = "before")

\* Each keeps its own. [DX-04]
KeepsOwn(chain, at, other, otherAt) == FALSE

\* With equal tocks the one that arrives later stays. [DX-04]
TakesLater(chain, at, other, otherAt) == at >= otherAt

\* What is sent again has a new tock. [DX-04]
SentAnew(state, entry) ==
    Broadcast([state EXCEPT !.tock = @ + 1], <<"update", entry[1], entry[2], entry[3], state.tock + 1>>)

\* A node that downloads gets what is there, and takes what was deleted for seen. [DX-05]
DownloadWithoutDeleted(state) ==
    LET deleted == {entry \in state.entries : entry[3] = 0}
    IN  <<state.entries \ deleted, state.superseded \cup UNION {Elements(entry[2]) : entry \in deleted}>>

\* A node that knows of a deletion does not hold what was deleted. [DI-09]
NothingComesBack ==
    \A n, m \in Up : \A deleted \in {entry \in entries[m] : entry[3] = 0} : \A entry \in EntryOf(entries[n], deleted[1]) :
        Relation(entry[2], deleted[2]) = "before" => HeadOf(deleted[2]) \notin Known(Local(n))

\* Nothing is missing at a node that admits clients. [DX-11]
ReadyMissesNothing == \A n \in Up : phase[n] = "ready" => Missed(Local(n)) = {}

\* A node on the own chain asks for all. [D-127, DX-13]
Silenced(state, from, which) ==
    IF IsRecovering(state) /\ IsOn(state.recovery[1], from) THEN Cancelled(state, {"missing"}) ELSE state

\* No node asks for missing changes outside of a recovery. [DX-14]
AsksNobody(state) == FALSE

\* Whether others lead is looked at once. [DX-21]
OldDataSentOnce(state) ==
    IF state.phase # "old" \/ IsLed(state) THEN state
    ELSE [AllSentAgain(state, state.entries) EXCEPT !.phase = "ready"]

\* Two elements of the chain. [DX-15]
SentShort(state, entry) ==
    Broadcast(state, <<"update", entry[1], Within(entry[2], 2), entry[3], entry[4]>>)

\* What a node knows of itself has no gaps, also if it has lost its data. [DX-16]
AllOwnComplete ==
    \A n \in Node :
        {pair \in Known(Local(n)) : pair[1] = n} = {<<n, t>> : t \in 1..TickOf(ticks[n], n)}

=============================================================================
