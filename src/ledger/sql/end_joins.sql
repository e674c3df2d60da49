-- end_joins: these joins count no more: their buyers left, or join again in the same transaction.
-- In      sale, their numbers, the number of each end
-- Keeps   under lock_line; before add_joins, so that a buyer has one join that counts
UPDATE line_joins j SET left_no = e.left_no
FROM unnest($2::int[], $3::int[]) AS e (number, left_no)
WHERE j.sale = $1 AND j.number = e.number AND j.left_no IS NULL
