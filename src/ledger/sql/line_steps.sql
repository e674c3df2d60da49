-- line_steps: when the mark of a line was moved to where, behind a position.
-- In      sale, position
-- Out     let_in, at, in order
SELECT let_in, at FROM line_steps WHERE sale = $1 AND let_in > $2 ORDER BY let_in
