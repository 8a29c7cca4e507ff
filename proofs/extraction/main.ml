(* Reads covering trees from standard input and says of each whether the proven program accepts it.

   One problem after the other, in words between blanks; numbers are binary, "-101/11", and come in pairs a b for a + b·ε:
   how many items and rows there are; of each row its limit and a drop for each item; a cost for each item; the most that
   may be freed; how many items are free in any case, and which; how many are undecided, and which; the tree in preorder:
   "bound" and a multiplier for each row, "branch" or "fix" and an item. *)

open Tree_check

let positive s =
  let found = ref XH in
  String.iteri (fun i c -> if i > 0 then found := if c = '1' then XI !found else XO !found) s;
  !found

let integer s =
  if s = "0" then Z0
  else if s.[0] = '-' then Zneg (positive (String.sub s 1 (String.length s - 1)))
  else Zpos (positive s)

let fraction s =
  match String.split_on_char '/' s with
  | [ p; q ] -> { qnum = integer p; qden = positive q }
  | _ -> failwith ("not a fraction: " ^ s)

let rec natural n = if n = 0 then O else S (natural (n - 1))
let word () = Scanf.scanf " %s" (fun s -> s)
let count () = int_of_string (word ())

(* In order: List.init and tuples leave the order of evaluation open. *)
let rec times n read =
  if n = 0 then []
  else
    let first = read () in
    first :: times (n - 1) read

let number () =
  let a = fraction (word ()) in
  let b = fraction (word ()) in
  (a, b)

let rec tree rows =
  match word () with
  | "bound" -> Bound (times rows (fun () -> fraction (word ())))
  | "branch" ->
      let item = natural (count ()) in
      let kept = tree rows in
      let freed = tree rows in
      Branch (item, kept, freed)
  | "fix" ->
      let item = natural (count ()) in
      Fix (item, tree rows)
  | s -> failwith ("not a node: " ^ s)

let problem items =
  let rows = count () in
  let row () =
    let limit = number () in
    let drops = times items number in
    { item_drops = drops; its_limit = limit }
  in
  let drops = times rows row in
  let costs = times items (fun () -> integer (word ())) in
  let most = integer (word ()) in
  let base = times (count ()) (fun () -> natural (count ())) in
  let undecided = times (count ()) (fun () -> natural (count ())) in
  let nodes = tree rows in
  accepts (natural items) drops costs most nodes base undecided

let rec go () =
  match word () with
  | "" -> ()
  | items ->
      print_endline (if problem (int_of_string items) then "accepted" else "refused");
      go ()

let () = go ()
