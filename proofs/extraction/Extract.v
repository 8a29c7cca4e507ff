(* The program of Program.v in OCaml. *)
From Coq Require Import Extraction ExtrOcamlBasic.
From Suffice Require Import Program.
Extraction "tree_check.ml" accepts.
