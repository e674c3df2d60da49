-- seal_draw: seals the joins of a line for its draw, if it is time.
-- In      sale
-- Out     one row if this call sealed them
-- Keeps   the line is locked: no join is under way. Once: a sealed draw stays as it is
WITH line AS MATERIALIZED (SELECT sale, numbers, leaves, head FROM lines WHERE sale = $1 FOR UPDATE)
UPDATE line_draws d SET sealed_at = clock_timestamp(), joins = line.numbers, leaves = line.leaves, root = line.head
FROM line WHERE d.sale = line.sale AND d.sealed_at IS NULL AND d.seals_at <= clock_timestamp()
RETURNING d.sale
