-- let_in: moves the mark up to which a line is let in. Steps that no time to claim can depend on any more are deleted on the way, but the last of them: all before
-- it were let in then or earlier, so that the next step does not count for them.
-- In      sale, where the mark is, where it shall be, how long steps are kept (ms)
-- Out     one row if it was moved: at
-- Keeps   compare-and-set: of two processes that let in, one does; the mark only goes up, to a number that exists
WITH moved AS (UPDATE lines SET let_in = $3 WHERE sale = $1 AND let_in = $2 AND $3 > $2::int AND $3 <= numbers RETURNING sale),
old AS (SELECT max(s.let_in) AS let_in FROM line_steps s WHERE s.sale = $1 AND s.at < clock_timestamp() - $4::bigint * interval '1 millisecond'),
swept AS (DELETE FROM line_steps s USING moved m, old WHERE s.sale = m.sale AND s.let_in < old.let_in)
INSERT INTO line_steps (sale, let_in) SELECT sale, $3 FROM moved RETURNING at
