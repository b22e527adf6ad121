----------------------------- MODULE TraceData -----------------------------
(***************************************************************************)
(* The events of recorded traces, one after the other, read from a file    *)
(* while TLC runs.                                                         *)
(*                                                                         *)
(* What stands here has no value; TLC takes the definitions from the class *)
(* TraceData (tla/java/TraceData.java), which must be in its class path    *)
(* together with the files `events` and `strings`.                         *)
(*                                                                         *)
(* A string of a trace is any bytes, and TLA+ has neither their order nor  *)
(* their number. So a string is a positive number here: its rank among all *)
(* strings of the traces, in the order of their bytes. An id or some bytes *)
(* of a message are the string of their hexadecimal digits.                *)
(*                                                                         *)
(* An event is a record:                                                   *)
(*     trace    the number of the trace: one node's lines, in their order  *)
(*     node     the node's address                                         *)
(*     seq      the line's number                                          *)
(*     kind     "start", "recv", "sent", "timer" or "api"                  *)
(*     readable "yes", or "no" if the line holds what is no event of the   *)
(*              protocol; then its other members from here on are <<>>     *)
(*     peer     who sent what was received, or was sent to                 *)
(*     args     the configuration, the message, the timer or the command;  *)
(*              of "sent" a record of the message and of how long it took  *)
(*     picks    pairs of a place and the sequence of the options taken     *)
(*     effects  what the node did, in its order                            *)
(*     refused  the reason why the node refused a command, or ""           *)
(* Messages, timers, commands, notices and the configuration are records   *)
(* with the members of their plain data, entries of messages are tuples,   *)
(* and what may be absent is <<>> or <<value>>. An option that is a number *)
(* k is -k - 1, so that it is no string.                                   *)
(***************************************************************************)
EXTENDS Integers

Event(at) == CHOOSE event : FALSE       \* from 1

EventCount == CHOOSE count \in Nat : FALSE

StringCount == CHOOSE count \in Nat : FALSE

StringSize(string) == CHOOSE size \in Nat : FALSE   \* in bytes

StringBytes(string) == CHOOSE bytes : FALSE         \* a sequence of numbers

StringOf(bytes) == CHOOSE string : FALSE            \* 0 if the traces have no such string

=============================================================================
