------------------------------ MODULE Recovering ------------------------------
(***************************************************************************)
(* The steps of a recovery: DistKV after a split has healed, with time.    *)
(*                                                                         *)
(* Written from the clauses in spec/distkv.md, whose numbers stand in      *)
(* brackets: DA-05 to DA-08, DA-47, DA-48, DA-69 and DA-74 to DA-79. The   *)
(* first pings after the split are under way. All nodes take part, no node *)
(* pings any more, and nothing is changed: an entry is the same at each    *)
(* node that has it. Time passes in units, of which a clock has some; it   *)
(* passes when nothing is due. A message takes as many units as it likes,  *)
(* up to Delay. Infos carry no tock and no prev here.                      *)
(***************************************************************************)
EXTENDS Times, Texts

CONSTANTS
    Node,        \* the nodes
    Last,        \* the pings that nodes have accepted: texts "n tock cut m1 t1 …"
    Pinging,     \* the nodes whose last ping is under way to all others
    Entries,     \* the entries that there are: texts "e cut m1 t1 …"
    Has,         \* which nodes have which entries: texts "n e"
    Gone,        \* what is superseded at which node: texts "n m t"
    Crashing,    \* the nodes that may crash, at any time
    Repairing,   \* the nodes that ask again at random times [DA-79]
    Length,      \* ping.length, the longest chain of a ping
    Clock,       \* units of time in ping.clock
    Delay,       \* the most units of time that a message takes
    Causal,      \* whether what a message has caused never overtakes it
    Losses       \* the most messages that get lost

VARIABLES
    up,
    last,        \* <<chain, tock>>
    ticks,       \* <<node, tick>>, the highest of each node
    superseded,  \* <<node, tick>>
    has,         \* the entries that are there
    recovery,    \* <<>>, or <<mine, side, lost, covered>>
    wanted,      \* what others have asked for
    timers,      \* those that run: <<name, units left>>
    lost,        \* how many messages have got lost
    sent,        \* what has been sent: <<sender, kind, content>>
    twice,       \* kinds of what another node of the sender's side had sent before
    got,         \* with Causal: how many messages of each node a node has got; of its own, has sent
    net          \* under way: <<to, units left, from, kind, content, what its sender had got>>

mine == <<last, ticks, superseded, has, recovery, wanted, timers>>

vars == <<up, mine, lost, sent, twice, got, net>>

-----------------------------------------------------------------------------
\* What the constants say

Parsed(texts) == {Words(text) : text \in texts}

Of(words, n) == Number(words[1]) = n

FirstLast ==
    [n \in Node |-> LET words == CHOOSE words \in Parsed(Last) : Of(words, n) IN <<ChainAt(words, 3), Number(words[2])>>]

Entry == {Number(words[1]) : words \in Parsed(Entries)}

ChainOf == [e \in Entry |-> ChainAt(CHOOSE words \in Parsed(Entries) : Of(words, e), 2)]

FirstHas == [n \in Node |-> {Number(words[2]) : words \in {words \in Parsed(Has) : Of(words, n)}}]

FirstGone == [n \in Node |-> {<<Number(words[2]), Number(words[3])>> : words \in {words \in Parsed(Gone) : Of(words, n)}}]

ASSUME RecoveringAssumption ==
    /\ Pinging \cup Crashing \cup Repairing \subseteq Node
    /\ \A n \in Node : \E words \in Parsed(Last) : Of(words, n)
    /\ \A n \in Node : FirstHas[n] \subseteq Entry
    /\ Length > 0 /\ Clock > 1
    /\ Causal \in BOOLEAN
    /\ Causal => Losses = 0

-----------------------------------------------------------------------------
\* What a node knows. Its state is a record of mine, and of what it sends.

Local(n) == [last |-> last[n], ticks |-> ticks[n], superseded |-> superseded[n], has |-> has[n], recovery |-> recovery[n],
             wanted |-> wanted[n], timers |-> timers[n], out |-> <<>>]

PresentIn(entries) == UNION {Elements(ChainOf[e]) : e \in entries}

\* [DA-04]
KnownTo(s) == PresentIn(s.has) \cup s.superseded

MissingTo(s) == Missing(s.ticks, KnownTo(s))

IsRecovering(s) == s.recovery # <<>>

Mine(s) == s.recovery[1]

SideOf(s) == s.recovery[2]

HasLost(s) == s.recovery[3]

Covered(s) == s.recovery[4]

IsRunning(s, name) == \E timer \in s.timers : timer[1] = name

Without(s, names) == [s EXCEPT !.timers = {timer \in @ : timer[1] \notin names}]

Set(s, name, units) == [s EXCEPT !.timers = {timer \in @ : timer[1] # name} \cup {<<name, units>>}]

Sends(s, kind, content) == [s EXCEPT !.out = Append(@, <<kind, content>>)]

-----------------------------------------------------------------------------
\* Times [DA-06, DA-07, DA-62, DA-74, DA-79]

TicksDelay(position) == AnswerDelay(Clock, position)

MissingDelay(position) == RequestDelay(Clock, position)

KnownDelay(position) == AnswerDelay(Clock, position)

Over == Silence(Clock)

-----------------------------------------------------------------------------
\* The steps

\* Step 2 is to come. [DA-77]
WithMissing(n, s) ==
    IF IsRecovering(s) /\ IsOn(Mine(s), n) /\ ~IsRunning(s, "missing")
    THEN Set(s, "missing", MissingDelay(Position(Mine(s), n)))
    ELSE s

\* RecoveryDue(ticks). [DA-76]
TicksDue(n, s) ==
    WithMissing(n, Sends(Without(s, {"ticks"}), "ticks", <<s.ticks, IF HasLost(s) THEN <<Mine(s)>> ELSE <<>>>>))

\* [DA-74]
Begun(n, s, other, hasLost) ==
    IF IsRecovering(s) THEN s
    ELSE LET begun == Set([s EXCEPT !.recovery = <<s.last[1], Side(s.last[1], other), hasLost, {}>>], "over", Over)
             units == TicksDelay(Position(s.last[1], n))
         IN  IF ~IsOn(s.last[1], n) THEN begun
             ELSE IF units = 0 THEN TicksDue(n, begun)
             ELSE Set(begun, "ticks", units)

\* What is sent in step 2, if it is anything. [DA-77]
Requests(list) == IF list = {} THEN {} ELSE {list}

Asks(n, s, list) ==
    LET asking == Sends(s, "missing", <<TickOf(s.ticks, n), list>>)
    IN  IF n \in Repairing THEN Set(asking, "allowed", RepairSilence(Clock)) ELSE asking

\* RecoveryDue(missing).
MissingDue(n, s) ==
    LET stopped == Without(s, {"missing"})
        requests == Requests(MissingTo(s) \ Covered(s))
    IN  IF requests = {} THEN stopped ELSE Asks(n, stopped, CHOOSE list \in requests : TRUE)

RECURSIVE WithUpdates(_, _)
WithUpdates(s, entries) ==
    IF entries = {} THEN s
    ELSE LET e == CHOOSE e \in entries : \A other \in entries : e <= other IN WithUpdates(Sends(s, "update", e), entries \ {e})

\* RecoveryDue(known). [DA-48, DA-78]
KnownDue(n, s) ==
    LET entries == {e \in s.has : Elements(ChainOf[e]) \cap s.wanted # {}}
        list == s.wanted \ PresentIn(s.has)
        answered == WithUpdates([Without(s, {"known"}) EXCEPT !.wanted = {}], entries)
    IN  IF list = {} THEN answered ELSE Sends(answered, "known", <<TickOf(s.ticks, n), list>>)

OverDue(n, s) == [Without(s, {"ticks", "missing", "over"}) EXCEPT !.recovery = <<>>]

RepairDue(n, s) == Asks(n, Without(s, {"repair"}), MissingTo(s))

-----------------------------------------------------------------------------
\* Messages

Seen(s, pairs) == [s EXCEPT !.ticks = Raised(@, pairs)]

\* [DA-69]
OnPing(n, state, from, ping) ==
    LET chain == ping[1]
        s == Seen(state, Elements(chain))
        before == s.last[1]
        wins == Beats(chain, ping[2], before, s.last[2])
        accepted == [s EXCEPT !.last = ping]
        begun == Begun(n, s, chain, wins)
    IN  IF Agree(RestOf(chain), RestOf(before)) THEN IF wins THEN accepted ELSE s
        ELSE IF Agree(RestOf(chain), before) THEN accepted
        ELSE IF IsAlone(chain) THEN s
        ELSE IF wins THEN [begun EXCEPT !.last = ping]
        ELSE begun

\* Whose messages keep a node from sending. [DA-05]
Silences(s, from) == from \in SideOf(s)

\* [DA-50, DA-76, DA-77]
OnTicks(n, state, from, content) ==
    LET reason == content[2]
        s == Seen(state, content[1] \cup (IF reason = <<>> THEN {} ELSE Elements(reason[1])))
        begun == IF reason = <<>> \/ IsRecovering(s) \/ Agree(s.last[1], reason[1]) THEN s ELSE Begun(n, s, reason[1], FALSE)
        isEnough ==
            /\ IsRecovering(begun)
            /\ Silences(begun, from)
            /\ IsNowhereBelow(content[1], begun.ticks)
            /\ HasLost(begun) => reason # <<>>
    IN  WithMissing(n, IF isEnough THEN Without(begun, {"ticks"}) ELSE begun)

\* What this request covers. [DA-77]
WithCovered(s, from, list) == IF Silences(s, from) THEN [s EXCEPT !.recovery[4] = @ \cup list] ELSE s

\* [DA-78]
WithWanted(n, s, list) ==
    LET more == [s EXCEPT !.wanted = @ \cup (list \cap KnownTo(s))]
        chain == IF IsRecovering(s) THEN Mine(s) ELSE s.last[1]
        units == KnownDelay(IF IsOn(chain, n) THEN Position(chain, n) ELSE Length)
    IN  IF more.wanted = {} \/ IsRunning(s, "known") THEN more
        ELSE IF units = 0 THEN KnownDue(n, more)
        ELSE Set(more, "known", units)

OnMissing(n, state, from, content) ==
    LET s == Seen(state, {<<from, content[1]>>})
    IN  WithWanted(n, IF IsRecovering(s) THEN WithCovered(s, from, content[2]) ELSE s, content[2])

\* [DA-04, DA-78]
OnKnown(n, state, from, content) ==
    LET s == Seen(state, {<<from, content[1]>>} \cup content[2])
    IN  [s EXCEPT !.superseded = @ \cup (content[2] \ PresentIn(s.has)), !.wanted = @ \ content[2]]

\* [DA-84, DA-78]
OnUpdate(n, state, from, e) ==
    LET elements == Elements(ChainOf[e])
        s == Seen(state, elements)
    IN  [s EXCEPT !.has = @ \cup {e}, !.superseded = @ \ elements, !.wanted = @ \ elements]

Arrival(n, s, from, kind, content) ==
    CASE kind = "ping" -> OnPing(n, s, from, content)
      [] kind = "ticks" -> OnTicks(n, s, from, content)
      [] kind = "missing" -> OnMissing(n, s, from, content)
      [] kind = "known" -> OnKnown(n, s, from, content)
      [] kind = "update" -> OnUpdate(n, s, from, content)

\* After each event. [DA-79]
Looked(n, s) ==
    IF n \notin Repairing \/ IsRecovering(s) \/ MissingTo(s) = {} \/ IsRunning(s, "allowed") THEN {Without(s, {"repair"})}
    ELSE IF IsRunning(s, "repair") THEN {s}
    ELSE {Set(s, "repair", units) : units \in RepairMoments(Clock)}

-----------------------------------------------------------------------------
\* What has been done twice [DI-17]

Before(n, s, kind) == {what \in sent : what[1] # n /\ what[2] = kind /\ what[1] \in SideOf(s)}

\* Whether this would have been silenced, had it been heard.
IsTwice(n, s, kind, content) ==
    IF ~IsRecovering(s) THEN FALSE
    ELSE CASE kind = "ticks" ->
                  \E what \in Before(n, s, kind) :
                      IsNowhereBelow(what[3][1], content[1]) /\ (content[2] # <<>> => what[3][2] # <<>>)
           [] kind \in {"missing", "known"} -> \E what \in Before(n, s, kind) : content[2] \subseteq what[3][2]
           [] kind = "update" -> \E what \in Before(n, s, kind) : what[3] = content
           [] OTHER -> FALSE

-----------------------------------------------------------------------------
\* The world

Nobody == [n \in Node |-> 0]

\* What n, as it is now, has got after it has sent its k-th message from now on.
Stamp(n, before, k) == IF Causal THEN [before EXCEPT ![n] = @ + k] ELSE Nobody

\* What s sends goes to all others that are up.
Broadcast(n, s, before) ==
    UNION {{<<m, Delay, n, s.out[k][1], s.out[k][2], Stamp(n, before, k)>> : m \in {m \in Node \ {n} : up[m]}} : k \in DOMAIN s.out}

\* n has become s, having got all this; these were under way besides.
Comes(n, s, before, messages) ==
    /\ last' = [last EXCEPT ![n] = s.last]
    /\ ticks' = [ticks EXCEPT ![n] = s.ticks]
    /\ superseded' = [superseded EXCEPT ![n] = s.superseded]
    /\ has' = [has EXCEPT ![n] = s.has]
    /\ recovery' = [recovery EXCEPT ![n] = s.recovery]
    /\ wanted' = [wanted EXCEPT ![n] = s.wanted]
    /\ timers' = [timers EXCEPT ![n] = s.timers]
    /\ sent' = sent \cup {<<n, what[1], what[2]>> : what \in Range(s.out)}
    /\ twice' = twice \cup {what[1] : what \in {what \in Range(s.out) : IsTwice(n, s, what[1], what[2])}}
    /\ got' = [got EXCEPT ![n] = Stamp(n, before, Len(s.out))]
    /\ net' = messages \cup Broadcast(n, s, before)

Beginning ==
    /\ up = [n \in Node |-> TRUE]
    /\ last = FirstLast
    /\ ticks = [n \in Node |-> Highest(Elements(FirstLast[n][1]) \cup PresentIn(FirstHas[n]) \cup FirstGone[n])]
    /\ superseded = FirstGone
    /\ has = FirstHas
    /\ recovery = [n \in Node |-> <<>>]
    /\ wanted = [n \in Node |-> {}]
    /\ timers = [n \in Node |-> {}]
    /\ lost = 0
    /\ sent = {}
    /\ twice = {}
    /\ got = [n \in Node |-> Stamp(n, Nobody, IF n \in Pinging THEN 1 ELSE 0)]
    /\ net = UNION {{<<m, Delay, n, "ping", FirstLast[n], Stamp(n, Nobody, 1)>> : m \in Node \ {n}} : n \in Pinging}

\* One unit passes.
Tick ==
    /\ \A n \in Node : \A timer \in timers[n] : timer[2] > 0
    /\ \A message \in net : message[2] > 0
    /\ net # {} \/ \E n \in Node : timers[n] # {}
    /\ timers' = [n \in Node |-> {<<timer[1], timer[2] - 1>> : timer \in timers[n]}]
    /\ net' = {[message EXCEPT ![2] = @ - 1] : message \in net}
    /\ UNCHANGED <<up, last, ticks, superseded, has, recovery, wanted, lost, sent, twice, got>>

Due(n, s, name) ==
    CASE name = "ticks" -> TicksDue(n, s)
      [] name = "missing" -> MissingDue(n, s)
      [] name = "known" -> KnownDue(n, s)
      [] name = "over" -> OverDue(n, s)
      [] name = "repair" -> RepairDue(n, s)
      [] name = "allowed" -> Without(s, {"allowed"})

Expire(n) ==
    \E timer \in timers[n] :
        /\ timer[2] = 0
        /\ \E s \in Looked(n, Due(n, Local(n), timer[1])) : Comes(n, s, got[n], net)
        /\ UNCHANGED <<up, lost>>

\* Whether all that has caused it has arrived.
HasItsTurn(message) ==
    ~Causal \/ \A m \in Node : message[6][m] <= got[message[1]][m] + (IF m = message[3] THEN 1 ELSE 0)

GotAfter(n, from) == IF Causal THEN [got[n] EXCEPT ![from] = @ + 1] ELSE Nobody

Receive ==
    \E message \in net :
        LET n == message[1]
            s == Arrival(n, Local(n), message[3], message[4], message[5])
        IN  /\ HasItsTurn(message)
            /\ \E looked \in Looked(n, s) : Comes(n, looked, GotAfter(n, message[3]), net \ {message})
            /\ UNCHANGED <<up, lost>>

Lose ==
    /\ lost < Losses
    /\ lost' = lost + 1
    /\ \E message \in net : net' = net \ {message}
    /\ UNCHANGED <<up, mine, sent, twice, got>>

\* No node needs to know any more what n knew.
Crash(n) ==
    /\ n \in Crashing
    /\ up[n]
    /\ up' = [up EXCEPT ![n] = FALSE]
    /\ net' = {message \in net : message[1] # n}
    /\ timers' = [timers EXCEPT ![n] = {}]
    /\ recovery' = [recovery EXCEPT ![n] = <<>>]
    /\ wanted' = [wanted EXCEPT ![n] = {}]
    /\ UNCHANGED <<last, ticks, superseded, has, lost, sent, twice, got>>

Passing ==
    \/ Tick
    \/ \E n \in Node : Expire(n)
    \/ Receive

Happening ==
    \/ Passing
    \/ Lose
    \/ \E n \in Node : Crash(n)

\* Whatever is due happens, and time passes.
RecoverySpec == Beginning /\ [][Happening]_vars /\ WF_vars(Passing)

=============================================================================
