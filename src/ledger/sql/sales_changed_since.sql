-- sales_changed_since: whether a sale or an item was changed since a read. Costs the same however many there are.
-- In      the mark of that read; NULL: there was none
-- Out     one row: mark (of this read), changed. A sale that was deleted is no change; stock that was sold is none either
SELECT pg_current_snapshot()::text AS mark,
       $1::pg_snapshot IS NULL
       OR EXISTS (SELECT FROM sales
                  WHERE changed_in >= pg_snapshot_xmin($1::pg_snapshot) AND changed_in <= '18446744073709551615'
                    AND NOT pg_visible_in_snapshot(changed_in, $1::pg_snapshot))
       OR EXISTS (SELECT FROM items
                  WHERE changed_in >= pg_snapshot_xmin($1::pg_snapshot) AND changed_in <= '18446744073709551615'
                    AND NOT pg_visible_in_snapshot(changed_in, $1::pg_snapshot)) AS changed
