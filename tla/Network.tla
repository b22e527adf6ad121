------------------------------ MODULE Network ------------------------------
(***************************************************************************)
(* The network as a set of messages.                                       *)
(*                                                                         *)
(* Any message of the set may be received next, so order is lost without   *)
(* more ado. A message that is sent twice is there once: the set cannot    *)
(* count. Duplication is then a receipt that leaves the message where it   *)
(* is, and loss is a message that goes away unread.                        *)
(*                                                                         *)
(* The bound MaxNet is part of the guard of each action that sends, and    *)
(* not a CONSTRAINT of the model checker: a step that would exceed it does *)
(* not exist, so that every explorer of the model has the same steps.      *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    MaxNet,        \* the most different messages under way
    Loss,          \* whether messages may get lost
    Duplication    \* whether messages may be received more than once

VARIABLE net      \* the messages on their way

ASSUME NetworkAssumption ==
    /\ MaxNet \in Nat
    /\ Loss \in BOOLEAN
    /\ Duplication \in BOOLEAN

HasRoom(messages) == Cardinality(messages) <= MaxNet

Send(messages) ==
    /\ HasRoom(net \cup messages)
    /\ net' = net \cup messages

\* m has been received, and these are the answers.
Answer(m, answers) ==
    /\ HasRoom((net \ {m}) \cup answers)
    /\ net' = (net \ {m}) \cup answers

\* m has been received, and another copy of it is still on its way.
AnswerCopy(m, answers) ==
    /\ Duplication
    /\ Send(answers)

Drop(m) ==
    /\ Loss
    /\ net' = net \ {m}

=============================================================================
