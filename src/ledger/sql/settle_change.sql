-- settle_change: calls the function of the same name, functions/settle_change.sql, unless the item's rights are others than judged.
-- In      item, number, epoch, taken, the epoch and the door under which the change was judged (null: none)
-- Out     one row: settled; none under other rights
-- Keeps   what the function keeps; E10: a decrease that was judged behind one door takes nothing behind another
-- Locks   the item row, before it compares
WITH item AS MATERIALIZED (SELECT epoch, door FROM items WHERE id = $1 FOR UPDATE)
SELECT settle_change($1, $2, $3, $4) AS settled
WHERE NOT EXISTS (SELECT FROM item WHERE epoch <> $5::bigint OR door <> $6::text)
