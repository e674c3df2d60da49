-- add_joins: writes numbered joins, and how far the line is after them.
-- In      sale, numbers, buyers, numbers of ends (0: it counts), their proofs (32 bytes each) in a row; the highest number, how many ended, the new head
-- Out     one row
-- Keeps   under lock_line: numbers without gaps
WITH added AS (
  INSERT INTO line_joins (sale, number, buyer, left_no, proof)
  SELECT $1, j.number, j.buyer, nullif(j.left_no, 0), substring($5::bytea FROM (j.i::int - 1) * 32 + 1 FOR 32)
  FROM unnest($2::int[], $3::text[], $4::int[]) WITH ORDINALITY AS j (number, buyer, left_no, i))
UPDATE lines SET numbers = $6, leaves = $7, head = $8 WHERE sale = $1 RETURNING numbers
